// gpu.dcgm_field: injects a value of a field of one GPU into DCGM, through dcgmi by an argument vector, again and
// again: through a small program of its own (triodrill-dcgm). Only who reads DCGM is drilled. The program ends with the
// process of the injector, at SIGTERM and when its time is up; the value that it injected last is DCGM's newest for
// some seconds more, and for longer where nobody has DCGM sample the field.
#pragma once

#include <memory>
#include <string>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

struct DcgmPrograms {
  std::string helper;           // "" = the file beside this process's own
  std::string dcgmi = "dcgmi";  // found in PATH unless it has a '/'
};

// Refused where there is no dcgmi, or where DCGM does not know the GPU.
std::unique_ptr<Injector> MakeGpuDcgmField(DcgmPrograms programs = {});

v1::Capability ProbeGpuDcgmField();

}  // namespace triodrill
