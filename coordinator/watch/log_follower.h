// Follows log files on a thread of its own and hands on each finished line with the interval in which it was written.
// Reads only: no file is created, changed or locked by following it. Owned by whoever runs a drill; a crash leaves
// nothing behind.
//
// Timing. A write to a watched file queues its inotify event before write() returns, and one queue serves every file.
// So one read that finds the queue empty proves that no followed file has changed up to then, whatever their number,
// and a line found by the next look was written in between: the interval's width is the tick, 1 ms while fine. Two
// cases are wider: a file that inotify does not announce (network file systems, mmap) is bounded by the last scan that
// read it (once a second), and what was in a file before following began has no lower bound (it is 0, the machine's
// start).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/watch/line.h"
#include "coordinator/watch/log_tail.h"
#include "coordinator/watch/unique_fd.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::watch {

class LogFollower {
 public:
  struct Options {
    TailOptions tail;
    std::chrono::milliseconds fine_tick{1};
    std::chrono::milliseconds coarse_tick{100};
  };
  // Called on the follower's thread, with at least one line, in the order in which they were read.
  using Sink = std::function<void(std::vector<Line>)>;

  // A path need not exist yet, nor its directory. Fails if there can be no inotify queue, or for a path that is
  // relative.
  static Result<std::unique_ptr<LogFollower>> Start(std::vector<std::string> paths, Options options, Clock& clock,
                                                    Sink sink);
  ~LogFollower();  // looks once more, hands on what that finds, and joins the thread
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;

  // Any thread. Fine from before a fault is fired until its trial has ended.
  void SetFine(bool fine);

  // Any thread. Every line whose write had returned by then has been handed to the sink (the epoch before the first
  // look).
  TimePoint CaughtUpTo() const;

  // Any thread. What happened so far, at most a second old; `problems` is empty while every file that exists is
  // followed.
  TailHealth Health() const;

 private:
  LogFollower(std::unique_ptr<LogTail> tail, Options options, Clock& clock, Sink sink, UniqueFd wake);
  void Run(const std::stop_token& stop);
  void Look();
  void Wake() const;

  const Options options_;
  Clock& clock_;
  const Sink sink_;
  const UniqueFd wake_;            // eventfd: a change of tick, or the end
  std::unique_ptr<LogTail> tail_;  // the thread's alone, as is next_health_
  TimePoint next_health_{};
  std::atomic<bool> fine_{false};
  std::atomic<int64_t> caught_up_ns_{0};
  mutable std::mutex mutex_;
  TailHealth health_;    // under mutex_
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace triodrill::watch
