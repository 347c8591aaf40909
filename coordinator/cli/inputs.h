// The three files of a drill, read and checked, with the profiles found where they are shipped.
#pragma once

#include <optional>
#include <string>

#include "coordinator/cli/verbs.h"
#include "coordinator/engines/programs.h"
#include "coordinator/load/load.h"
#include "triodrill/exit_code.h"

namespace triodrill::cli {

struct Profiles {
  Loaded<v1::Partition> partition;
  Loaded<v1::Pipeline> pipeline;
  engines::Programs programs;
  std::string state_dir;  // absolute
};

// Problems are printed; `exit_code` then says which kind they were.
std::optional<Profiles> LoadProfiles(const Where& where, ExitCode& exit_code);
std::optional<Loaded<v1::Drill>> ReadDrill(const std::string& path, ExitCode& exit_code);

// The command line may change how often a drill is run, never what it does or expects.
void Override(v1::Drill& drill, const Often& often);

// "error: what" on standard error, in the form of every other error.
void PrintError(const std::string& what);

// The exit code of an engine's or fleet's error.
ExitCode CodeOf(const Status& status);

}  // namespace triodrill::cli
