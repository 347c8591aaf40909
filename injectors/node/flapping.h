// node.flapping: takes the links of this node down and up in turn and stops the job's processes on it meanwhile,
// through link.flap's program (triodrill-flap). If the process of the injector dies, the program lets all of it run
// again, whole, and ends; so it does at SIGTERM and when its time is up. It is two processes that watch each other; if
// both are killed at once, the replay of the record does what they left.
#pragma once

#include <memory>
#include <string>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Runs `program`; the program's file beside this process's own if empty. Refuses what node.lost refuses, and a process
// that is stopped or traced already.
std::unique_ptr<Injector> MakeNodeFlapping(std::string program = "");

// As for link.flap.
v1::Capability ProbeNodeFlapping();

}  // namespace triodrill
