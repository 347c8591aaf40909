#include "drills/shadow/trainer/mesh_guard.h"

#include <dirent.h>
#include <gloo/transport/unbound_buffer.h>
#include <sys/socket.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"

namespace triodrill::shadow::trainer {
namespace {

// gloo's own word on what broke comes within its next tick, and says more than ours.
constexpr int kLooksForGloo = 3;

template <typename Found>
void ForEachTcpSocket(Found found) {
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) return;
  const absl::Cleanup close = [directory] { closedir(directory); };
  for (const dirent* entry = readdir(directory); entry != nullptr; entry = readdir(directory)) {
    int fd = -1;
    if (!absl::SimpleAtoi(entry->d_name, &fd)) continue;
    int domain = 0;
    socklen_t length = sizeof domain;
    // Fails on what is no socket, or no longer there.
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0) continue;
    if (domain == AF_INET || domain == AF_INET6) found(fd);
  }
}

int CountTcpSockets() {
  int count = 0;
  ForEachTcpSocket([&](int) { ++count; });
  return count;
}

}  // namespace

void MeshGuard::Connected() {
  const std::lock_guard lock(mutex_);
  sockets_ = CountTcpSockets();
  looks_lost_ = 0;
}

void MeshGuard::Forget() {
  const std::lock_guard lock(mutex_);
  sockets_ = 0;
}

void MeshGuard::Enter(std::vector<gloo::transport::UnboundBuffer*> buffers) {
  const std::lock_guard lock(mutex_);
  buffers_ = std::move(buffers);
  aborted_ = false;
}

bool MeshGuard::Leave() {
  const std::lock_guard lock(mutex_);
  buffers_.clear();
  return !aborted_;
}

void MeshGuard::Interrupt() {
  ForEachTcpSocket([](int fd) { shutdown(fd, SHUT_RDWR); });
  const std::lock_guard lock(mutex_);
  AbortWaits();
}

void MeshGuard::CheckConnections() {
  const std::lock_guard lock(mutex_);
  looks_lost_ = sockets_ > 0 && CountTcpSockets() < sockets_ ? looks_lost_ + 1 : 0;
  if (looks_lost_ > kLooksForGloo) AbortWaits();
}

void MeshGuard::AbortWaits() {
  for (gloo::transport::UnboundBuffer* const buffer : buffers_) {
    aborted_ = true;
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
}

}  // namespace triodrill::shadow::trainer
