// The command line that the pipeline and the launcher share, and the files that it names.
#pragma once

#include <string>

#include "drills/shadow/pipeline/core.h"
#include "triodrill/exit_code.h"

namespace triodrill::shadow::pipeline {

struct Options {
  std::string node;        // the launcher's own
  std::string first_node;  // on which it also starts the pipeline
  std::string address;
  std::string run_dir;
  std::string partition_file;
  std::string policy_file;
  std::string defect;
};

struct Loaded {
  ExitCode code = ExitCode::kPassed;  // kUsage, kInvalidFile: `problem` says why
  std::string problem;
  bool done = false;  // help, version or list was asked for, and given
  Options options;
  Config config;
};

// `launcher`: --node, --first and --address are wanted, too. Afterwards the working directory is the run directory.
Loaded LoadOptions(int argc, char** argv, bool launcher);

}  // namespace triodrill::shadow::pipeline
