// Programs run by argument vector, never by a shell, and waited for with a bound. Effects only.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::coordinator {

// Waits until the descriptor is readable or closed at its other end; false when the deadline came first.
bool AwaitReadable(int fd, Clock& clock, TimePoint deadline);

// Starts argv[0] (absolute) in a session of its own with standard input from /dev/null, standard output to `out_fd` and
// standard error appended to `err_file`.
Result<pid_t> Spawn(const std::vector<std::string>& argv, int out_fd, const std::string& err_file);

// The same with variables (NAME=value) beside those of our own environment, or instead of them, and standard error to a
// descriptor.
struct Launch {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  int out_fd = -1;
  int err_fd = -1;
};
Result<pid_t> Spawn(const Launch& launch);

// The exit code, or -SIGNAL. At the deadline the process is killed, and DeadlineExceeded is returned once it is reaped.
Result<int> AwaitExit(pid_t child, Clock& clock, TimePoint deadline);

struct Finished {
  int exit_code = 0;   // or -SIGNAL
  std::string output;  // both streams, the first 64 KiB
};
Result<Finished> RunToEnd(const std::vector<std::string>& argv, Clock& clock, Nanos at_most);

// Both streams go to `file`, made anew. An error if it does not end with 0 in time; it names the file then.
Status RunIntoFile(const std::vector<std::string>& argv, const std::string& file, Clock& clock, Nanos at_most);

}  // namespace triodrill::coordinator
