// storage.flip: a damaged copy in the place of the newest file that matches, below the working directory of a process
// (see swap.h). If the process of the injector dies, the copy stays until the record is replayed, also after a reboot:
// files outlive it, so that an earlier boot is no reason to leave a record unreverted here.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Which file is meant is decided when the fault is applied: it is the newest then. Refuses a directory that cannot be
// reached from here by the name that the kernel has for it.
std::unique_ptr<Injector> MakeStorageFlip();

// Whether this kernel has openat2.
v1::Capability ProbeStorageFlip();

}  // namespace triodrill
