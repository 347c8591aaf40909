#include "drills/shadow/pipeline/seqpacket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "drills/shadow/pipeline/node_messages.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr size_t kMostUnsent = 1024;

Result<sockaddr_un> AddressOf(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(Cat("socket ", name, ": its name must be under ", sizeof address.sun_path,
                                          " bytes; change into its directory first"));
  }
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  return address;
}

OwnedFd NewSocket() { return OwnedFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

}  // namespace

Result<OwnedFd> ListenAt(const std::string& name) {
  TRIODRILL_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(name));
  OwnedFd listener = NewSocket();
  if (!listener.valid()) return ErrnoStatus("socket for", name);
  unlink(name.c_str());
  const mode_t before = umask(0177);
  const int bound = bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(before);
  if (bound != 0) return ErrnoStatus("bind", name);
  if (listen(listener.get(), 64) != 0) return ErrnoStatus("listen on", name);
  return listener;
}

Result<OwnedFd> ConnectTo(const std::string& name) {
  TRIODRILL_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(name));
  OwnedFd connection = NewSocket();
  if (!connection.valid()) return ErrnoStatus("socket for", name);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ErrnoStatus("connect to", name);
  }
  return connection;
}

void Datagrams::Send(std::string text) {
  if (gone_ || unsent_.size() >= kMostUnsent) return;
  unsent_.push_back(std::move(text));
  Flush();
}

void Datagrams::Flush() {
  while (!gone_ && !unsent_.empty()) {
    const std::string& text = unsent_.front();
    const ssize_t sent = send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) return;
    if (sent < 0) gone_ = true;
    unsent_.pop_front();
  }
}

std::optional<std::string> Datagrams::Receive() {
  std::string text(kLongestNodeMessage, '\0');
  ssize_t got;
  do {
    got = recv(fd_.get(), text.data(), text.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    text.resize(static_cast<size_t>(got));
    return text;
  }
  if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) gone_ = true;
  return std::nullopt;
}

}  // namespace triodrill::shadow::pipeline
