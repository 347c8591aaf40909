// What triodrill-probe measures, each within a bound. Effects: sockets alone.
#pragma once

#include <string>
#include <vector>

#include "drills/shadow/pipeline/node_messages.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::shadow::pipeline {

// Bits per second of one TCP connection over 127.0.0.1.
Result<double> LoopbackBandwidth(Clock& clock, Nanos timeout);

// The peers to which no TCP connection from `address` stands in time, all tried at once.
std::vector<std::string> UnreachablePeers(const std::string& address, const std::vector<Peer>& peers, Clock& clock,
                                          Nanos timeout);

// A real all-gather with one other node, over gloo, and a look at what came: in probe_gather.cc, which alone needs
// gloo.
Status GatherWithOther(const std::string& address, int rank, const std::string& store, Nanos timeout);

}  // namespace triodrill::shadow::pipeline
