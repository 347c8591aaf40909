// storage.torn_write: a copy that was cut short, or whose rest reads as zeros, in the place of the newest file that
// matches, as a crash leaves a file that was renamed before its data was on disk (see swap_fault.h).
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Which file is meant is decided when the fault is applied: it is the newest then. Refuses zeros over zeros.
std::unique_ptr<Injector> MakeStorageTornWrite();
v1::Capability ProbeStorageTornWrite();

}  // namespace triodrill
