// Asks a program: runs it by argument vector and reads what it answers, bounded in time and size. Effects only.
#pragma once

#include <string>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::coordinator {

struct Question {
  std::vector<std::string> argv;  // argv[0] is absolute
  std::vector<std::string> env;   // NAME=value, beside our own environment
  size_t most_output = 0;         // bytes of standard output that are taken
};

struct Reply {
  std::string out;
  Instant at;  // begun, and ended
};

// Fails if it does not end with 0 in time (it is killed then), with the first of its words on standard error, and if
// it writes more than was allowed.
Result<Reply> AskProgram(const Question& question, Clock& clock, Nanos at_most);

}  // namespace triodrill::coordinator
