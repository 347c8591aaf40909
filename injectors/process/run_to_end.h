// Another's program, run by an argument vector to its end, within a time. No shell. Any thread that may start
// processes; if this process dies meanwhile the program ends by itself.
#pragma once

#include <string>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill {

struct ProgramEnd {
  int code = -1;     // what it exited with
  std::string text;  // standard output and standard error, as they came; of 64 KiB what comes first
};

// `arguments` begins with the program's path. DeadlineExceeded if it does not end in time: then it was killed. Aborted
// if a signal ended it.
Result<ProgramEnd> RunToEnd(const std::vector<std::string>& arguments, Nanos within);

// The file of that name in the directories of PATH, or `name` itself if it has a '/'. NotFound says where was looked.
Result<std::string> FindProgram(const std::string& name);

}  // namespace triodrill
