// What a launcher reads of its own node. Effects: reads only, but for the listener.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "drills/shadow/node_channel.h"
#include "triodrill/status.h"

namespace triodrill::shadow::pipeline {

struct InterfaceBytes {
  uint64_t received = 0;
  uint64_t sent = 0;
};
// Of one interface, from the text of /proc/net/dev. Pure.
InterfaceBytes ParseInterfaceBytes(std::string_view proc_net_dev, std::string_view interface);

// /proc/self/net/dev, not /sys/class/net: a node of the sandbox sees the host's /sys.
InterfaceBytes ReadInterfaceBytes(std::string_view interface);

// The interface that carries `address`; empty if there is none.
std::string InterfaceOf(const std::string& address);

// Milliseconds since `file` was last written to; -1 if it is not there.
int64_t AgeOf(const std::string& file);

// NVIDIA's line in the kernel log about a GPU: "NVRM: Xid (PCI:0000:04:00): 79, …". Pure.
struct XidWord {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  int xid = 0;
};
std::optional<XidWord> ParseXidWord(std::string_view line);
// Whether that is the GPU with this bus id, as NVML spells it. Pure.
bool IsAt(const XidWord& word, const char* bus_id);

// A listener on `address` that nobody needs to accept from: a completed handshake is all the link check wants.
Result<std::pair<OwnedFd, int>> ListenForLinks(const std::string& address);

// The directory of this program.
std::string OwnDirectory();

}  // namespace triodrill::shadow::pipeline
