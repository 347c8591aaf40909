// The sandbox's control socket: a Unix stream socket, mode 0600, one line a request, one line an answer. Never waits
// for a slow client's request; closes on one that says too much.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "drills/shadow/node_channel.h"
#include "triodrill/status.h"

namespace triodrill::shadow {

class ControlSocket {
 public:
  // Replaces a stale socket: the caller holds the sandbox's lock.
  static Result<ControlSocket> Listen(const std::string& path);

  std::vector<int> Descriptors() const;

  // Takes what has come; `answer` is called with each complete line and the client it is from. Does not wait.
  void Pump(const std::function<void(int client, const std::string& line)>& answer);
  void Reply(int client, const std::string& line);

 private:
  explicit ControlSocket(OwnedFd listener) : listener_(std::move(listener)) {}

  struct Client {
    OwnedFd fd;
    std::string unread;
  };
  OwnedFd listener_;
  std::map<int, Client> clients_;
};

}  // namespace triodrill::shadow
