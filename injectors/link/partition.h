// link.partition: drops the IP packets between one interface and named peers, by an nftables table of its own.
// If the process of the injector dies, the table stays whole until the record is replayed: it is made, and removed, in
// one transaction of the kernel. Packets that do not pass IP's hooks (RDMA, raw frames) go on.
#pragma once

#include <memory>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Refuses what link.down refuses of its interface (but a VLAN on it), one that is a part of a bridge, a bond or a VRF
// (its packets are seen under that name), a name of a table that is taken, and peers that are no addresses.
std::unique_ptr<Injector> MakeLinkPartition();

// Whether the kernel has nf_tables and this process CAP_NET_ADMIN.
v1::Capability ProbeLinkPartition();

}  // namespace triodrill
