#include "injectors/agent/waiter.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <utility>

namespace triodrill::agent {
namespace {

// What a kernel's timer may be late by when it matters.
constexpr Nanos kEarly = std::chrono::microseconds(200);
constexpr int kPriority = 50;

}  // namespace

Waiter::Waiter(Clock& clock, UniqueFd timer, UniqueFd call)
    : clock_(clock), timer_(std::move(timer)), call_(std::move(call)) {}

Waiter::Waiter(Waiter&& other) noexcept
    : clock_(other.clock_), timer_(std::move(other.timer_)), call_(std::move(other.call_)) {}

Result<Waiter> Waiter::Make(Clock& clock) {
  UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer.valid()) return ErrnoStatus("make", "a timer");
  UniqueFd call(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!call.valid()) return ErrnoStatus("make", "an event");
  return Waiter(clock, std::move(timer), std::move(call));
}

void Waiter::Call() {
  if (called_.exchange(true)) return;
  const uint64_t one = 1;
  // It cannot fail: the counter is far from full, for only the first call since the last wait writes.
  [[maybe_unused]] const ssize_t written = write(call_.get(), &one, sizeof(one));
}

bool Waiter::Sleep(std::optional<TimePoint> until) {
  itimerspec setting{};
  if (until) {
    const int64_t ns = std::max<int64_t>(1, ToNanos(*until));  // 0 would disarm it
    setting.it_value = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &setting, nullptr);
  pollfd fds[] = {{.fd = timer_.get(), .events = POLLIN, .revents = 0},
                  {.fd = call_.get(), .events = POLLIN, .revents = 0}};
  while (poll(fds, 2, -1) < 0 && errno == EINTR) {
  }
  return (fds[1].revents & POLLIN) == 0;
}

void Waiter::Wait(const std::optional<Wake>& wake) {
  if (!wake) {
    Sleep(std::nullopt);
  } else {
    const TimePoint wake_at = wake->precise ? wake->at - kEarly : wake->at;
    const bool undisturbed = clock_.Now() >= wake_at || Sleep(wake_at);
    while (undisturbed && wake->precise && !called_.load(std::memory_order_acquire) && clock_.Now() < wake->at) {
    }
  }
  if (!called_.load(std::memory_order_acquire)) return;
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(call_.get(), &count, sizeof(count));
  called_.store(false, std::memory_order_release);
}

Status BecomeRealTime() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  const sched_param parameters{.sched_priority = kPriority};
  const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters);
  if (error == 0) return Ok();
  errno = error;
  return ErrnoStatus("set the real-time priority of", "the firing thread");
}

}  // namespace triodrill::agent
