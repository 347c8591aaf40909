// What the process that listens for webhooks and the coordinator say to each other, over a pair of stream sockets. The
// listener sends frames: one kind, four bytes of length (little end first), the bytes. After each kBody and kBroken it
// waits for one byte, kTaken or kNotTaken, and answers its sender accordingly.
#pragma once

#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace triodrill::watch {

enum class FrameKind : char {
  kListening = 'l',  // ADDRESS:PORT; the first frame
  kFailed = 'f',     // why it does not listen; the first frame, and the last
  kBody = 'b',       // of one request, whole
  kBroken = 'x',     // a request's body did not come whole, or is too large; no bytes
};
struct Frame {
  FrameKind kind = FrameKind::kBroken;
  std::string bytes;
};
inline constexpr char kTaken = '+';
inline constexpr char kNotTaken = '-';

// Unavailable when the other end is gone; InvalidArgument for what no listener of ours sends.
Status SendFrame(int fd, const Frame& frame);
Result<Frame> ReceiveFrame(int fd);

}  // namespace triodrill::watch
