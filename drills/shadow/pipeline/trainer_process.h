// One trainer: its process, its control socket, the tail of its standard error. Owned by the launcher, on its thread.
// The process dies with the launcher (parent-death signal), and the launcher with its node.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "drills/shadow/node_channel.h"
#include "drills/shadow/pipeline/core.h"
#include "drills/shadow/pipeline/options.h"
#include "drills/shadow/pipeline/seqpacket.h"

namespace triodrill::shadow::pipeline {

// The node's shadow GPUs, in the run directory.
std::string GpuStateFile(const Options& options);
// The file that stands for the node's kernel log, in the run directory.
std::string KernelLogFile(const Options& options);

// The trainer's arguments. Pure.
std::vector<std::string> TrainerArguments(const Options& options, const Config& config, const StartTrainer& order);

// Starts `program` with these arguments. With `control`, that descriptor becomes kControlFd; standard error is appended
// to `error_file`; standard output goes to `out`, or to the launcher's own if that is -1.
struct Spawning {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=value, added to the launcher's own
  int control = -1;
  int out = -1;
  std::string error_file;  // empty: the launcher's own
};
Result<pid_t> Spawn(const Spawning& spawning);

struct ExitStatus {
  int code = 0;
  int signal = 0;
};
// Reaps `pid` if it has ended.
std::optional<ExitStatus> Reap(pid_t pid);

// Lines that were added to a file since it was opened. A line without its end waits for it.
class LineTail {
 public:
  explicit LineTail(std::string file);
  std::vector<std::string> NewLines();

 private:
  std::string file_;
  off_t offset_ = 0;
  std::string rest_;
};

class TrainerProcess {
 public:
  static Result<TrainerProcess> Start(const Options& options, const Config& config, const StartTrainer& order,
                                      const std::string& program);

  const StartTrainer& order() const { return order_; }
  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }
  int epoch() const { return epoch_; }
  Datagrams& control() { return control_; }
  void Tell(const ToTrainer& message);
  void Signal(int signal);
  std::vector<std::string> NewErrorLines() { return errors_.NewLines(); }
  bool reported_closed = false;
  bool reaped = false;

 private:
  TrainerProcess(const StartTrainer& order, pid_t pid, OwnedFd pidfd, OwnedFd control, LineTail errors)
      : order_(order), pid_(pid), pidfd_(std::move(pidfd)), control_(std::move(control)), errors_(std::move(errors)) {}

  StartTrainer order_;
  pid_t pid_;
  OwnedFd pidfd_;
  Datagrams control_;
  LineTail errors_;
  int epoch_ = 0;  // of the last Join that was passed on
};

}  // namespace triodrill::shadow::pipeline
