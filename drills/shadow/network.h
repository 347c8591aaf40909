// The data network of the sandbox, through netlink (libnl-route) in the caller's network namespace. Everything made
// here lies inside the sandbox's namespaces and goes with them: nothing is owed an undo.
#pragma once

#include <sys/types.h>

#include <string>

#include "triodrill/status.h"

struct nl_sock;

namespace triodrill::shadow {

// One netlink socket, in the namespace in which it was opened.
class Network {
 public:
  static Result<Network> Open();
  Network(Network&& other) noexcept;
  Network& operator=(Network&&) = delete;
  ~Network();

  Status AddBridge(const std::string& name);
  // A cable from `port`, put on `bridge` here, to `peer` in the network namespace of `peer_pid`.
  Status AddCable(const std::string& port, const std::string& bridge, const std::string& peer, pid_t peer_pid);
  Status AddAddress(const std::string& name, const std::string& address_with_prefix);
  Status SetUp(const std::string& name);

 private:
  explicit Network(nl_sock* socket) : socket_(socket) {}
  nl_sock* socket_;
};

}  // namespace triodrill::shadow
