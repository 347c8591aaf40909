// link.flap: takes one interface down and up in turn, through a small program of its own (triodrill-flap), and puts
// back what the kernel drops with it each time. If the process of the injector dies, the program brings the interface
// up, whole, and ends; so it does at SIGTERM and when its time is up. If it is killed itself, the interface stays as it
// is then until the record is replayed, which is how link.down is taken back.
#pragma once

#include <memory>
#include <string>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Runs `program`; the program's file beside this process's own if empty. Refuses the interfaces that link.down refuses.
std::unique_ptr<Injector> MakeLinkFlap(std::string program = "");

// As for link.down, and whether the program is there.
v1::Capability ProbeLinkFlap();

}  // namespace triodrill
