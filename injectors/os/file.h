// Small kernel files (/proc, /sys): whole reads, single writes. Any thread; a crash leaves nothing but what was
// written.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/text.h"

namespace triodrill {

// At most 1 MiB; more is an error. `name` is resolved against `directory` (AT_FDCWD for a plain path).
Result<std::string> ReadFileAt(int directory, const std::string& name);
inline Result<std::string> ReadFile(const std::string& path) { return ReadFileAt(AT_FDCWD, path); }

// Writes `text` with one write(2) into a file that exists: what control files want.
Status WriteControlFileAt(int directory, const std::string& name, std::string_view text);

// Names of the directory's entries without "." and "..", in no order.
Result<std::vector<std::string>> ListDirectory(const std::string& path);

// Inode of /proc/thread-self/ns/<kind>: which namespace the calling thread is in.
Result<uint64_t> OwnNamespaceInode(std::string_view kind);

// /proc/sys/kernel/random/boot_id, without the newline.
Result<std::string> BootId();

}  // namespace triodrill
