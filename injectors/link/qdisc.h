// Queueing disciplines at the root of an interface: the kernel's messages written and read. Pure.
// Written by hand and not by libnl-route's own classes: those know no rate above 2^31 bytes a second and no delay in
// nanoseconds, and need /proc/net/psched. A test holds the two against each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/text.h"

struct nlmsghdr;

namespace triodrill {

struct TokenBucket {
  uint64_t bytes_per_s = 0;
  uint32_t burst_bytes = 0;
  uint32_t queue_bytes = 0;  // what may wait; more is dropped
};
struct Netem {
  uint64_t delay_ns = 0;
  uint64_t jitter_ns = 0;
  uint32_t loss = 0;     // of 2^32-1
  uint32_t corrupt = 0;  // of 2^32-1
  uint32_t packets = 0;  // that may wait
};
// A share in percent as netem has it.
uint32_t ShareOf32Bits(double percent);

// One qdisc of a dump.
struct Qdisc {
  int ifindex = 0;
  uint32_t handle = 0;  // "8001:" is 0x80010000; 0: the kernel's own default
  uint32_t parent = 0;
  std::string kind;
  std::string options;  // TCA_OPTIONS, as it was dumped
  bool more = false;    // it has what its options do not tell: a size table, shared blocks, an off-load
  uint64_t packets = 0;
  uint64_t dropped = 0;

  bool IsRoot() const;
  // ingress and clsact: beside the tree of what is sent.
  bool IsIngress() const;
  std::string Text() const;  // "tbf 8001:"
};
// Of an RTM_NEWQDISC.
Result<Qdisc> ParseQdisc(nlmsghdr* message);

// The payload of TCA_OPTIONS.
std::string TokenBucketOptions(const TokenBucket& bucket);
std::string NetemOptions(const Netem& netem);
// Whether dumped options are what was asked for; the burst to within what the kernel's clock can hold.
bool SameTokenBucket(const TokenBucket& asked, std::string_view options);
bool SameNetem(const Netem& asked, std::string_view options);

// As `tc` would be told, for a person: "tbf rate 8000bit burst 1600b limit 3000b". Empty for a kind whose options are
// not known to be taken again as they were dumped: codel and its kin round their times at each turn, and a classful one
// has a tree below it.
std::string AsTcIsTold(const Qdisc& qdisc);

// The payload of a request about the root qdisc of an interface. Without kind: only who is meant.
std::string RootQdiscRequest(int ifindex, uint32_t handle, std::string_view kind, std::string_view options);
// … of a dump of all qdiscs, and of the filters of one of them.
std::string QdiscDumpRequest(int ifindex, uint32_t parent);

}  // namespace triodrill
