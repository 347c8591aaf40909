// The shadow GPUs of the embedded partition's nodes, and a file for each node that stands for its kernel log: made
// before any agent starts, as hardware is there before its programs are. What a crash leaves is files of the state
// directory, which the next Up makes anew.
#pragma once

#include <string>
#include <string_view>

#include "coordinator/engines/programs.h"
#include "triodrill/status.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::engines {

// A node's own link to the stand-in of NVML. The library finds its state beside the path it was loaded by, so that a
// fresh process that undoes from a record alone needs no environment.
std::string NvmlLink(const std::string& state_dir, std::string_view node);

// What a node's agent and launcher take for its kernel log: the host's own is never written to.
std::string KernelLogFile(const std::string& state_dir, std::string_view node);

// For each node an empty kernel log, and as many GPUs as it has slots, in run/gpu-NODE.state, and the links to them.
Status MakeShadowGpus(const Programs& programs, const v1::ShadowSpec& spec, const std::string& state_dir);

}  // namespace triodrill::engines
