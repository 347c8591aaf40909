#include "drills/shadow/trainer/control.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iostream>

#include "drills/shadow/system_clock.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

constexpr int kInterruptAgainMs = 10;

enum class Sent { kSent, kFull, kGone };

Sent SendOne(int fd, const std::string& message) {
  for (;;) {
    const ssize_t sent = send(fd, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return Sent::kSent;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return Sent::kFull;
    return Sent::kGone;
  }
}

}  // namespace

Control::Control(ControlFds fds, Nanos heartbeat, Clock& clock, Orders& orders, MeshGuard& guard, Outbox& outbox,
                 Vitals& vitals)
    : fds_(fds),
      heartbeat_(heartbeat),
      clock_(clock),
      orders_(orders),
      guard_(guard),
      outbox_(outbox),
      vitals_(vitals),
      next_beat_(clock.Now()) {}

int Control::Timeout() const {
  const int beat = PollTimeout(clock_, next_beat_);
  return behind_ ? std::min(beat, kInterruptAgainMs) : beat;
}

void Control::Run() {
  for (;;) {
    std::array<pollfd, 3> polled = {pollfd{fds_.control, POLLIN, 0}, pollfd{fds_.wakeup, POLLIN, 0},
                                    pollfd{fds_.signals, POLLIN, 0}};
    if (full_) polled[0].events |= POLLOUT;
    if (poll(polled.data(), polled.size(), Timeout()) < 0 && errno != EINTR) return;
    if (polled[2].revents != 0) return;
    if ((polled[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !Receive()) return;
    uint64_t posted = 0;
    if (polled[1].revents != 0 && read(fds_.wakeup, &posted, sizeof posted) < 0 && errno != EAGAIN) return;
    if (!Send() || !SendBeat()) return;
    behind_ = false;
    orders_.IfBehind([this] {
      behind_ = true;
      guard_.Interrupt();
    });
  }
}

bool Control::Receive() {
  std::array<char, kLongestMessage> message;
  const ssize_t got = recv(fds_.control, message.data(), message.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
  if (got == 0) return false;  // the launcher is gone, and nobody else's orders count
  const Result<ToTrainer> order = DecodeToTrainer(std::string_view(message.data(), static_cast<size_t>(got)));
  if (!order.ok()) {
    std::cerr << Cat("order refused: ", std::string(order.status().message()), "\n");
    return true;
  }
  if (std::holds_alternative<Stop>(*order)) return false;
  orders_.Give(*order);
  return true;
}

bool Control::Send() {
  full_ = false;
  for (std::optional<std::string> message = outbox_.Front(); message; message = outbox_.Front()) {
    const Sent sent = SendOne(fds_.control, *message);
    if (sent == Sent::kGone) return false;
    if (sent == Sent::kFull) {
      full_ = true;
      return true;
    }
    outbox_.Pop();
  }
  return true;
}

bool Control::SendBeat() {
  const TimePoint now = clock_.Now();
  if (now < next_beat_) return true;
  next_beat_ = std::max(next_beat_ + heartbeat_, now);
  guard_.CheckConnections();
  // A launcher that does not listen gets no pile of old heartbeats.
  return full_ || SendOne(fds_.control, Encode(FromTrainer(vitals_.Snapshot()))) != Sent::kGone;
}

}  // namespace triodrill::shadow::trainer
