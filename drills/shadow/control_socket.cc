#include "drills/shadow/control_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

constexpr size_t kLongestRequest = 4096;
constexpr size_t kMostClients = 64;

}  // namespace

Result<ControlSocket> ControlSocket::Listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(Cat("listen on ", path, ": a Unix socket's path must be under ",
                                          sizeof address.sun_path, " bytes; use a shorter state directory"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  OwnedFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return ErrnoStatus("socket for", path);
  unlink(path.c_str());
  const mode_t before = umask(0177);
  const int bound = bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(before);
  if (bound != 0) return ErrnoStatus("bind", path);
  if (listen(listener.get(), 16) != 0) return ErrnoStatus("listen on", path);
  return ControlSocket(std::move(listener));
}

std::vector<int> ControlSocket::Descriptors() const {
  std::vector<int> descriptors = {listener_.get()};
  for (const auto& [fd, client] : clients_) descriptors.push_back(fd);
  return descriptors;
}

void ControlSocket::Pump(const std::function<void(int client, const std::string& line)>& answer) {
  for (int fd; (fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    OwnedFd accepted(fd);
    if (clients_.size() >= kMostClients) continue;
    const timeval patience{.tv_sec = 2, .tv_usec = 0};  // for a client that does not read its answer
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    clients_[fd] = Client{std::move(accepted), ""};
  }
  std::vector<int> gone;
  for (auto& [fd, client] : clients_) {
    char bytes[1024];
    const ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) {
      gone.push_back(fd);
      continue;
    }
    client.unread.append(bytes, static_cast<size_t>(got));
    for (size_t end; (end = client.unread.find('\n')) != std::string::npos;) {
      const std::string line = client.unread.substr(0, end);
      client.unread.erase(0, end + 1);
      answer(fd, line);
    }
    if (client.unread.size() > kLongestRequest) gone.push_back(fd);
  }
  for (const int fd : gone) clients_.erase(fd);
}

void ControlSocket::Reply(int client, const std::string& line) {
  const std::string text = line + "\n";
  size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t wrote = send(client, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // the client is gone, or does not read: its loss
    sent += static_cast<size_t>(wrote);
  }
}

}  // namespace triodrill::shadow
