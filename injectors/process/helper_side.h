// The helper's own side: what every helper program does besides its effect. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "injectors/os/fd.h"
#include "injectors/process/helper_order.h"
#include "injectors/process/process_identity.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill {

// Why a helper ends: a signal, the end of the process that asked for it, what the program adds, and its time.
class ReasonsToEnd {
 public:
  // Blocks the signals that end programs and reads them from a descriptor. Fails if who asked is gone by now: an undo
  // may have been here already, and nothing is to be done any more.
  static Result<ReasonsToEnd> Watch(const HelperOrder& order);

  void Add(int fd) { fds_.push_back(fd); }
  const std::vector<int>& fds() const { return fds_; }

  // Whether there is one now, or until `end` (CLOCK_BOOTTIME) or the order's time, whichever is sooner. At the order's
  // time there is one.
  bool Now() const { return Before(Nanos(0)); }
  bool Before(Nanos end) const;

 private:
  ReasonsToEnd(UniqueFd signals, ProcessHandle parent, Nanos until)
      : signals_(std::move(signals)), parent_(std::move(parent)), until_(until), fds_{signals_.get(), parent_.fd()} {}

  UniqueFd signals_;
  ProcessHandle parent_;
  Nanos until_;
  std::vector<int> fds_;
};

// To whoever started this program.
void SayStarted();
int SayFailed(std::string_view program, const Status& status);  // the exit code
void CloseStatus();

// "stutter:12".
void ShowCount(std::string_view counter, int count);

}  // namespace triodrill
