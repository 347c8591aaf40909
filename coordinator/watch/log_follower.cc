#include "coordinator/watch/log_follower.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "coordinator/watch/unique_fd.h"

namespace triodrill::watch {

Result<std::unique_ptr<LogFollower>> LogFollower::Start(std::vector<std::string> paths, Options options, Clock& clock,
                                                        Sink sink) {
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return ErrnoStatus("open", "an eventfd for the log follower");
  TRIODRILL_ASSIGN_OR_RETURN(auto tail, LogTail::Open(std::move(paths), options.tail, clock));
  return std::unique_ptr<LogFollower>(
      new LogFollower(std::move(tail), options, clock, std::move(sink), std::move(wake)));
}

LogFollower::LogFollower(std::unique_ptr<LogTail> tail, Options options, Clock& clock, Sink sink, UniqueFd wake)
    : options_(options),
      clock_(clock),
      sink_(std::move(sink)),
      wake_(std::move(wake)),
      tail_(std::move(tail)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

LogFollower::~LogFollower() {
  thread_.request_stop();
  Wake();
  thread_.join();
}

void LogFollower::SetFine(bool fine) {
  fine_ = fine;
  Wake();
}

TimePoint LogFollower::CaughtUpTo() const { return FromNanos(caught_up_ns_); }

TailHealth LogFollower::Health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

// A look is short, and what it finds is known no better than when it comes: it goes before what the machine computes,
// where it may. Not inherited by anything started later.
void GoFirst() {
  sched_param first{.sched_priority = 1};
  sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first);
}

// The events themselves do not end the wait: with many busy files a look for each would cost more than it tells.
void LogFollower::Run(const std::stop_token& stop) {
  GoFirst();
  bool last = false;
  while (!last) {
    last = stop.stop_requested();
    Look();
    if (last) return;
    pollfd wake{.fd = wake_.get(), .events = POLLIN, .revents = 0};
    const auto tick = fine_ ? options_.fine_tick : options_.coarse_tick;
    uint64_t woken = 0;
    if (poll(&wake, 1, static_cast<int>(tick.count())) > 0 && read(wake_.get(), &woken, sizeof(woken)) < 0) continue;
  }
}

void LogFollower::Look() {
  std::vector<Line> lines = tail_->Tick();
  if (!lines.empty()) sink_(std::move(lines));
  caught_up_ns_ = ToNanos(tail_->CaughtUpTo());
  const TimePoint now = clock_.Now();
  if (now < next_health_) return;
  next_health_ = now + std::chrono::seconds(1);
  const std::lock_guard lock(mutex_);
  health_ = tail_->Health();
}

void LogFollower::Wake() const {
  const uint64_t one = 1;
  // Fails only if it would not end a wait: the counter is full, so a wake is under way.
  if (write(wake_.get(), &one, sizeof(one)) < 0) return;
}

}  // namespace triodrill::watch
