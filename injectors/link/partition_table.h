// The nftables table of link.partition: what is written into it, and whether what was read back is that. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/network_prefix.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

struct PartitionOrder {
  std::string table;  // "triodrill_RUN_SHOT", family inet
  v1::LinkIdentity link;
  std::vector<NetworkPrefix> peers;
  bool inbound = false;
  bool outbound = false;
};

// InvalidArgument: no peers, an address that is none, a direction that is not known.
Result<PartitionOrder> HowToPartition(const v1::AimedFault& fault, std::string table);

// The name for a fault's table: letters, digits and '_' only.
std::string PartitionTableName(const v1::AimedFault& fault);

// One transaction of nftables: all of it, or nothing. Fails where there is such a table.
std::string PartitionCommands(const PartitionOrder& order);

struct PartitionSeen {
  bool ours = false;       // it holds what was written, and nothing else
  std::string difference;  // if not, the first one
  int64_t handle = 0;      // the kernel's number of this table: one that is made anew has another
  uint64_t packets = 0;    // met by our rules
};
// Of libnftables' listing as JSON. `link_name_now` is how the interface with our index is called now ("" if there is
// none). Fails if it is not understood.
Result<PartitionSeen> ReadPartition(const std::string& json, const PartitionOrder& order,
                                    std::string_view link_name_now);

}  // namespace triodrill
