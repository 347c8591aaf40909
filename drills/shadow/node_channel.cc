#include "drills/shadow/node_channel.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace triodrill::shadow {

Result<ChannelPair> MakeChannel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return ErrnoStatus("socketpair", "node channel");
  ChannelPair pair{OwnedFd(ends[0]), OwnedFd(ends[1])};
  const int on = 1;
  if (setsockopt(pair.supervisor.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return ErrnoStatus("setsockopt SO_PASSCRED", "node channel");
  }
  return pair;
}

Status SendOrder(int fd, Order order) {
  if (send(fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof order)
    return ErrnoStatus("send order to", "init");
  return Ok();
}

std::optional<Order> ReceiveOrder(int fd) {
  Order order{};
  ssize_t got;
  do {
    got = recv(fd, &order, sizeof order, 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof order) return std::nullopt;
  return order;
}

void Say(int fd, Said said, pid_t pid, Role role, int status, std::string_view text) {
  NodeMessage message;
  message.said = said;
  message.role = role;
  message.status = status;
  const size_t length = std::min(text.size(), sizeof message.text - 1);
  std::copy_n(text.data(), length, message.text);
  iovec part{&message, sizeof message};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = room;
  header.msg_controllen = sizeof room;
  cmsghdr* control = CMSG_FIRSTHDR(&header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_CREDENTIALS;
  control->cmsg_len = CMSG_LEN(sizeof(ucred));
  const ucred who{pid, getuid(), getgid()};
  std::memcpy(CMSG_DATA(control), &who, sizeof who);
  // A supervisor that is gone takes us with it: there is nobody left to tell of an error.
  while (sendmsg(fd, &header, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

std::optional<Heard> Hear(int fd) {
  Heard heard;
  iovec part{&heard.message, sizeof heard.message};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = room;
  header.msg_controllen = sizeof room;
  ssize_t got;
  do {
    got = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof heard.message) return std::nullopt;
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_CREDENTIALS) continue;
    ucred who{};
    std::memcpy(&who, CMSG_DATA(at), sizeof who);
    heard.pid = who.pid;
  }
  heard.message.text[sizeof heard.message.text - 1] = '\0';
  return heard;
}

}  // namespace triodrill::shadow
