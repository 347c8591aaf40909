// The checkpoint directory of a job: below the working directory of one of its processes, and by a name that an undo
// can find again. No symbolic link is followed below the working directory. Reads only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "injectors/os/fd.h"
#include "injectors/process/process_identity.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

struct StoragePlace {
  UniqueFd directory;
  uint64_t inode = 0;
  std::string path;
};

// Refuses a directory that cannot be reached from here by the name that the kernel has for it: an undo has nothing but
// the name.
Result<StoragePlace> PlaceBelow(const ProcessHandle& process, const std::string& directory, std::string_view kind);

// nullopt with `why` if the directory of the record is not there any more, and with it what was in it.
Result<std::optional<UniqueFd>> OpenRecorded(const v1::StoragePrior& prior, std::string* why);

// In names that must be this shot's alone: the shot's, for people, and what makes it unique.
std::string PlaceToken(const v1::AimedFault& fault, uint64_t inode);

}  // namespace triodrill
