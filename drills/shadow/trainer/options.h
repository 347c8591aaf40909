// The trainer's command line, as values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "drills/shadow/trainer/checks.h"
#include "drills/shadow/trainer/model.h"
#include "triodrill/time.h"

namespace triodrill::shadow::trainer {

struct Options {
  int rank = -1;  // of a standby: none yet
  int local_rank = 0;
  Layout layout;
  std::string node;
  std::string address;  // collectives are bound to it
  std::string run_dir;
  uint64_t seed = 7;
  Nanos step_compute = std::chrono::milliseconds(40);  // of the simulated kernel
  std::string gpu_state;                               // file of the node's shadow GPUs; empty: none
  int gpu = 0;                                         // which of them
  Nanos heartbeat = std::chrono::milliseconds(100);
  int checkpoint_every = 10;
  int keep = 5;
  Checks checks;

  bool reference = false;  // print what a fault-free run of `steps` steps comes to, and end
  int64_t steps = 0;
  int every = 10;
};

// The options, or the exit code with which to end: 0 after --help, 64 after having said on standard error what is
// wrong.
std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace triodrill::shadow::trainer
