#include "coordinator/cli/interrupt.h"

#include <signal.h>

#include <ctime>
#include <utility>

namespace triodrill::cli {
namespace {

sigset_t Ours() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

const char* NameOf(int signal) { return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP"; }

}  // namespace

Interrupts::Interrupts() {
  const sigset_t set = Ours();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::jthread([this](const std::stop_token& stop) { Wait(stop); });
}

Interrupts::~Interrupts() {
  thread_.request_stop();
  // Wakes the waiting thread: it alone takes the signal, and it is leaving.
  pthread_kill(thread_.native_handle(), SIGHUP);
}

void Interrupts::Wait(const std::stop_token& stop) {
  const sigset_t set = Ours();
  while (!stop.stop_requested()) {
    const int signal = sigwaitinfo(&set, nullptr);
    if (signal < 0 || stop.stop_requested()) continue;
    const std::lock_guard lock(mutex_);
    ++count_;
    first_ = NameOf(signal);
    if (listener_) listener_(first_);
  }
}

void Interrupts::TellTo(std::function<void(const std::string&)> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  if (listener_ && count_ > 0) listener_(first_);
}

bool Interrupts::came() const {
  const std::lock_guard lock(mutex_);
  return count_ > 0;
}

}  // namespace triodrill::cli
