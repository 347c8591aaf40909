// gpu.burn: takes a share of the GPU on which one process computes, through a small program of its own (triodrill-burn)
// that runs a kernel there for a part of each period. The driver takes everything back when that program ends, and it
// ends with the process of the injector, at SIGTERM and when its time is up: no single death leaves anything.
#pragma once

#include <memory>
#include <string>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Runs `program`; the program's file beside this process's own if empty. Refused where there is no CUDA driver, and on
// a GPU that others compute on, too.
std::unique_ptr<Injector> MakeGpuBurn(std::string program = "");

v1::Capability ProbeGpuBurn();

}  // namespace triodrill
