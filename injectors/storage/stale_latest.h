// storage.stale_latest: the file that points to the newest checkpoint names the one before it (see swap_fault.h). What
// the job writes there while it does stands, whether by a rename or in place.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// What is older is decided when the fault is applied. Refuses where there is no older checkpoint.
std::unique_ptr<Injector> MakeStorageStaleLatest();
v1::Capability ProbeStorageStaleLatest();

// What a pointer that holds `content` would hold for the checkpoint before: of `names`, those that match `pattern` (one
// '*', for the number) are checkpoints. A pointer holds a checkpoint's name, or its number, and blanks at the end.
// Pure.
Result<std::string> OlderPointer(std::string_view content, const std::vector<std::string>& names,
                                 std::string_view pattern);

}  // namespace triodrill
