// Datagrams over a SOCK_SEQPACKET Unix socket, never waiting. Names are relative to the working directory, since a
// socket's path may not exceed 107 bytes. Effects.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "drills/shadow/node_channel.h"
#include "triodrill/status.h"

namespace triodrill::shadow::pipeline {

Result<OwnedFd> ListenAt(const std::string& name);  // replaces what a dead listener left
Result<OwnedFd> ConnectTo(const std::string& name);

// One end. What the other end does not take now waits here, up to a bound: a peer that is stopped must not stop us, and
// what it has not read by then it would only be misled by.
class Datagrams {
 public:
  explicit Datagrams(OwnedFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  bool gone() const { return gone_; }
  bool waiting() const { return !unsent_.empty(); }  // poll for POLLOUT, then Flush

  void Send(std::string text);
  void Flush();
  // nullopt when there is nothing now, or the other end is gone.
  std::optional<std::string> Receive();

 private:
  OwnedFd fd_;
  std::deque<std::string> unsent_;
  bool gone_ = false;
};

}  // namespace triodrill::shadow::pipeline
