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

// The number of this socket that no other has, unlike its descriptor; 0 if it is gone.
uint64_t CookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

}  // namespace

void MeshGuard::Connected() {
  const std::lock_guard lock(mutex_);
  sockets_ = Look(false);
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
  const std::lock_guard lock(mutex_);
  Look(true);
  AbortWaits();
}

int MeshGuard::Look(bool shut_down) {
  std::set<uint64_t> there;
  ForEachTcpSocket([&](int fd) {
    const uint64_t cookie = CookieOf(fd);
    if (shut_down && seen_.contains(cookie)) shutdown(fd, SHUT_RDWR);
    there.insert(cookie);
  });
  seen_ = std::move(there);
  return static_cast<int>(seen_.size());
}

void MeshGuard::CheckConnections() {
  const std::lock_guard lock(mutex_);
  const int there = Look(false);
  looks_lost_ = sockets_ > 0 && there < sockets_ ? looks_lost_ + 1 : 0;
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
