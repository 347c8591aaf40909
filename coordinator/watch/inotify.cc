#include "coordinator/watch/inotify.h"
#include "triodrill/text.h"

#include <sys/inotify.h>

#include <cerrno>
#include <cstring>

namespace triodrill::watch {
namespace {

// The queue holds 16,384 events unless it was enlarged, a read some thousands: more reads than this in one look mean
// that events come as fast as they are taken.
constexpr int kMostReads = 64;

void Append(const char* data, size_t size, Inotify::Drained& drained) {
  size_t at = 0;
  while (at + sizeof(inotify_event) <= size) {
    inotify_event event{};
    std::memcpy(&event, data + at, sizeof(event));
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      drained.overflowed = true;
    } else {
      FileEvent seen{.watch = event.wd, .mask = event.mask, .name = {}};
      if (event.len > 0) seen.name = data + at + sizeof(event);  // padded with NULs
      drained.events.push_back(std::move(seen));
    }
    at += sizeof(event) + event.len;
  }
}

}  // namespace

Result<Inotify> Inotify::Open() {
  UniqueFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd.valid()) {
    return ErrnoStatus("open", "an inotify queue (see /proc/sys/fs/inotify/max_user_instances)");
  }
  return Inotify(std::move(fd));
}

Result<int> Inotify::Watch(const std::string& path, uint32_t mask) {
  const int watch = inotify_add_watch(fd_.get(), path.c_str(), mask);
  if (watch < 0) {
    const bool full = errno == ENOSPC;
    return ErrnoStatus("watch", full ? Cat(path, " (see /proc/sys/fs/inotify/max_user_watches)") : path);
  }
  return watch;
}

void Inotify::Unwatch(int watch) { inotify_rm_watch(fd_.get(), watch); }

Inotify::Drained Inotify::Drain(Clock& clock) {
  Drained drained;
  for (int reads = 0; reads < kMostReads; ++reads) {
    const TimePoint before = clock.Now();
    const ssize_t size = read(fd_.get(), buffer_.data(), buffer_.size());
    if (size > 0) {
      Append(buffer_.data(), static_cast<size_t>(size), drained);
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno != EAGAIN) {
      drained.status = ErrnoStatus("read", "the inotify queue");
      return drained;
    }
    drained.emptied = true;
    drained.empty_at = before;
    return drained;
  }
  return drained;
}

}  // namespace triodrill::watch
