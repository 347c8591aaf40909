// Pid 1 of the sandbox: the switch. Builds the bridge, the nodes' inits and their cables, then only reaps. The kernel
// kills it when the supervisor dies, and with it every process of the sandbox: its pid namespace holds all the nodes'.
#pragma once

#include <vector>

#include "drills/shadow/node_init.h"

namespace triodrill::shadow {

struct SwitchSetup {
  std::vector<NodeSetup> nodes;
  int supervisor_pidfd = -1;
};

// `channels`: one for each node, to be handed to its init.
[[noreturn]] void RunOuterInit(const SwitchSetup& setup, OwnedFd channel, std::vector<OwnedFd> channels);

}  // namespace triodrill::shadow
