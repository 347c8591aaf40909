// Whole files, written so that a crash leaves the old one or the new one. Beside it only archives and the ledger's
// database have ways of their own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace triodrill {

Result<std::string> ReadWholeFile(const std::string& path);

// The same in pieces, through one buffer of fixed size. Ends at the first error of `take`.
Status ReadFileInPieces(const std::string& path, const std::function<Status(std::string_view)>& take);

// Writes PATH.tmp, syncs it, renames it over PATH, syncs the directory.
Status WriteWholeFile(const std::string& path, std::string_view bytes);

// Makes what was renamed in it outlive a crash. "" is the current directory.
Status SyncDirectory(const std::string& directory);

// SHA-256 in lower-case hex.
std::string Sha256Hex(std::string_view bytes);

}  // namespace triodrill
