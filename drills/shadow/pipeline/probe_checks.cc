#include "drills/shadow/pipeline/probe_checks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <thread>

#include "drills/shadow/node_channel.h"
#include "drills/shadow/system_clock.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr size_t kLoopbackBytes = size_t{8} << 20;  // little enough to be no load of its own

sockaddr_in At(const std::string& address, int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address.c_str(), &at.sin_addr);
  return at;
}

void Bound(int fd, Nanos timeout) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  const timeval patience{.tv_sec = micros / 1'000'000, .tv_usec = micros % 1'000'000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

void Pour(int fd) {
  const std::vector<char> block(size_t{1} << 16);
  for (size_t sent = 0; sent < kLoopbackBytes;) {
    const ssize_t wrote = send(fd, block.data(), block.size(), MSG_NOSIGNAL);
    if (wrote <= 0) break;
    sent += static_cast<size_t>(wrote);
  }
  shutdown(fd, SHUT_WR);
}

}  // namespace

Result<double> LoopbackBandwidth(Clock& clock, Nanos timeout) {
  const OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const OwnedFd out(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = At("127.0.0.1", 0);
  socklen_t size = sizeof at;
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return ErrnoStatus("listen on", "127.0.0.1");
  }
  for (const int fd : {listener.get(), out.get()}) Bound(fd, timeout);
  if (connect(out.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    return ErrnoStatus("connect to", "127.0.0.1");
  }
  const OwnedFd in(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!in.valid()) return ErrnoStatus("accept on", "127.0.0.1");
  Bound(in.get(), timeout);
  const TimePoint begun = clock.Now();
  const std::jthread pouring([&out] { Pour(out.get()); });
  std::vector<char> block(size_t{1} << 16);
  size_t total = 0;
  for (ssize_t got; (got = recv(in.get(), block.data(), block.size(), 0)) > 0 && clock.Now() - begun < timeout;) {
    total += static_cast<size_t>(got);
  }
  const double seconds = std::chrono::duration<double>(clock.Now() - begun).count();
  if (total < kLoopbackBytes) {
    shutdown(in.get(), SHUT_RDWR);  // frees the one that pours
    return absl::DeadlineExceededError(Cat("loop-back carried ", total, " of ", kLoopbackBytes, " bytes in time"));
  }
  return static_cast<double>(total) * 8 / seconds;
}

std::vector<std::string> UnreachablePeers(const std::string& address, const std::vector<Peer>& peers, Clock& clock,
                                          Nanos timeout) {
  std::vector<OwnedFd> sockets;
  std::vector<pollfd> look;
  std::vector<bool> reached(peers.size(), false);
  for (const Peer& peer : peers) {
    OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_in from = At(address, 0);
    const sockaddr_in to = At(peer.address, peer.port);
    const bool begun =
        bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0 &&
        (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 || errno == EINPROGRESS);
    look.push_back({begun ? fd.get() : -1, POLLOUT, 0});
    sockets.push_back(std::move(fd));
  }
  const TimePoint deadline = clock.Now() + timeout;
  const auto open = [&] {
    for (const pollfd& one : look) {
      if (one.fd >= 0) return true;
    }
    return false;
  };
  while (open() && clock.Now() < deadline) {
    if (poll(look.data(), look.size(), PollTimeout(clock, deadline)) <= 0) continue;
    for (size_t i = 0; i < look.size(); ++i) {
      if (look[i].fd < 0 || look[i].revents == 0) continue;
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(look[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
      reached[i] = error == 0;
      look[i].fd = -1;
    }
  }
  std::vector<std::string> unreachable;
  for (size_t i = 0; i < peers.size(); ++i) {
    if (!reached[i]) unreachable.push_back(peers[i].node);
  }
  return unreachable;
}

}  // namespace triodrill::shadow::pipeline
