#include "injectors/process/helper_side.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <iostream>

#include "injectors/os/clock.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

void Say(const std::string& text) {
  // Nobody may be listening any more; that is no reason to stop working.
  [[maybe_unused]] const ssize_t wrote = ::write(kHelperStatusFd, text.data(), text.size());
}

}  // namespace

Result<ReasonsToEnd> ReasonsToEnd::Watch(const HelperOrder& order) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoStatus("block", "signals");
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!signals.valid()) return ErrnoStatus("read", "signals");
  TRIODRILL_ASSIGN_OR_RETURN(ProcessHandle parent, ProcessHandle::Open(order.parent));
  return ReasonsToEnd(std::move(signals), std::move(parent), order.until);
}

bool ReasonsToEnd::Before(Nanos end) const {
  std::vector<pollfd> entries;
  for (const int fd : fds_) entries.push_back({fd, POLLIN, 0});
  while (true) {
    const Nanos now = SinceBoot();
    if (now >= until_) return true;
    const Nanos left = std::max(std::min(end, until_) - now, Nanos(0));
    const timespec wait{static_cast<time_t>(left.count() / 1'000'000'000),
                        static_cast<long>(left.count() % 1'000'000'000)};
    const int ready = ::ppoll(entries.data(), entries.size(), &wait, nullptr);
    if (ready > 0) return true;
    if (ready == 0 && end < until_) return false;
    if (ready < 0 && errno != EINTR) return true;
  }
}

void SayStarted() { Say("S"); }

int SayFailed(std::string_view program, const Status& status) {
  Say(Cat("E", status.message()));
  std::cerr << program << ": " << status.message() << '\n';
  return 1;
}

void CloseStatus() { ::close(kHelperStatusFd); }

void ShowCount(std::string_view counter, int count) { ::prctl(PR_SET_NAME, Cat(counter, count).c_str()); }

}  // namespace triodrill
