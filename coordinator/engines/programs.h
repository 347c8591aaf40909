// Where the programs and data files that a partition needs are: beside the running program, never in PATH, so that a
// coordinator and its agents always come from one build or one installation.
#pragma once

#include <string>

#include "triodrill/status.h"

namespace triodrill::engines {

struct Programs {         // absolute paths
  std::string shadow;     // triodrill-shadow
  std::string agent;      // triodrilld
  std::string undo;       // triodrill-undo
  std::string gpu_state;  // triodrill-gpu-state
  std::string webhook;    // triodrill-webhook
  std::string nvml;       // the shadow GPUs' stand-in library
  std::string cuda;       // likewise, for the CUDA driver
  std::string bin_dir;    // holds them, and the programs of a workload of ours
  std::string data_dir;   // holds library/ pipelines/ partitions/ shadow/
};

// Beside /proc/self/exe. A program that is missing is no error here: whoever starts it says so.
Result<Programs> FindPrograms();

// In `bin_dir` (absolute): PREFIX/bin has its data in PREFIX/share/triodrill, build/PRESET/bin in the source's drills/.
Result<Programs> FindProgramsIn(const std::string& bin_dir);

}  // namespace triodrill::engines
