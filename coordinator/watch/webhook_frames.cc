#include "coordinator/watch/webhook_frames.h"

#include <sys/socket.h>

#include <cerrno>

#include "coordinator/watch/firing.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr size_t kHeader = 5;
constexpr int kByte = 8;

Status Gone(const char* operation) {
  return absl::UnavailableError(Cat(operation, " webhooks: the other process is gone"));
}

Status ReceiveAll(int fd, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(fd, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Gone("receive");
    bytes += got;
    size -= static_cast<size_t>(got);
  }
  return Ok();
}

}  // namespace

Status SendFrame(int fd, const Frame& frame) {
  std::string all(1, static_cast<char>(frame.kind));
  for (size_t i = 0; i + 1 < kHeader; ++i) all.push_back(static_cast<char>(frame.bytes.size() >> (kByte * i)));
  all += frame.bytes;
  for (size_t sent = 0; sent < all.size();) {
    const ssize_t more = send(fd, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return Gone("send");
    sent += static_cast<size_t>(more);
  }
  return Ok();
}

Result<Frame> ReceiveFrame(int fd) {
  char header[kHeader];
  TRIODRILL_RETURN_IF_ERROR(ReceiveAll(fd, header, kHeader));
  Frame frame{static_cast<FrameKind>(header[0]), ""};
  size_t size = 0;
  for (size_t i = kHeader - 1; i > 0; --i) size = size << kByte | static_cast<unsigned char>(header[i]);
  const bool known = frame.kind == FrameKind::kListening || frame.kind == FrameKind::kFailed ||
                     frame.kind == FrameKind::kBody || frame.kind == FrameKind::kBroken;
  if (!known || size > kMostWebhookBytes) {
    return absl::InvalidArgumentError("receive webhooks: the listening process does not keep to what was agreed");
  }
  frame.bytes.resize(size);
  TRIODRILL_RETURN_IF_ERROR(ReceiveAll(fd, frame.bytes.data(), size));
  return frame;
}

}  // namespace triodrill::watch
