// What storage.full and storage.slow ask before a directory is covered. Reads only.
#pragma once

#include <string_view>

#include "injectors/process/process_identity.h"
#include "injectors/storage/place.h"
#include "triodrill/status.h"

namespace triodrill {

// Whether this process can mount a FUSE file system at all.
Status CheckMayMount(std::string_view kind);

// Refuses a target in another mount namespace: the mount would have to be made there, and an undo find it there again,
// also when the target has ended.
Status CheckSameMounts(const ProcessHandle& process, std::string_view kind);

// Refuses a directory that is, or holds, a mount, the root or a part of another overlay; one that holds what this
// process itself has open, its program or its working directory; and the target's working directory itself, which
// paths relative to it do not cross.
Status CheckMayBeCovered(const ProcessHandle& process, const StoragePlace& place, std::string_view kind);

}  // namespace triodrill
