// Pid 1 of a node: sets the node up from inside, starts and reaps its programs on order, reports what became of them.
// Runs in a forked copy of the supervisor and never returns to its code. Its death ends every process of the node.
#pragma once

#include <string>
#include <vector>

#include "drills/shadow/node_channel.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::shadow {

struct NodeSetup {
  const v1::ShadowNode* node = nullptr;
  std::string address_with_prefix;
  std::string hosts_file;
  std::vector<std::string> agent_environment;
  std::vector<std::string> workload_environment;
};

// `cable`: readable once the node's interface is there; closed without a byte if it never will be.
[[noreturn]] void RunNodeInit(const NodeSetup& setup, OwnedFd channel, OwnedFd cable);

}  // namespace triodrill::shadow
