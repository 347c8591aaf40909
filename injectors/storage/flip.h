// storage.flip: a copy with flipped bits in the place of the newest file that matches (see swap_fault.h).
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Which file is meant is decided when the fault is applied: it is the newest then.
std::unique_ptr<Injector> MakeStorageFlip();
v1::Capability ProbeStorageFlip();

}  // namespace triodrill
