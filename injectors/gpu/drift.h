// environment.drift on a GPU: its SM clock falls and rises slowly by a few per cent, as heat would have it, through a
// small program of its own (triodrill-clockwave) that locks it anew a few times a second.
// If the process of the injector dies, the program resets the clocks and ends; it does so too at SIGTERM and when its
// time is up. If it is killed as well, the last lock stays until the record is replayed.
#pragma once

#include <memory>
#include <string>

#include "triodrill/injector.h"

namespace triodrill {

// Runs `program`; the program's file beside this process's own if empty.
std::unique_ptr<Injector> MakeGpuDrift(std::string program = "");

}  // namespace triodrill
