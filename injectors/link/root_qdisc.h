// What link.rate, link.delay, link.loss and link.corrupt have in common: a queueing discipline of ours at the root of
// an interface, in the place of the one that was there, and that one put back. Stateless; on the injector's thread. If
// the process dies, the kernel has the one or the other: the change is one request. Ours stays until the replay.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "injectors/link/netlink.h"
#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

struct Shape {
  std::string kind;                             // of the qdisc
  std::string options;                          // its TCA_OPTIONS
  std::function<bool(std::string_view)> is_it;  // whether dumped options are those
  std::string text;                             // for the evidence: "rate 8000 bit/s"
};
// InvalidArgument if the parameters are out of range for an interface of this MTU (0: not known, not looked at).
using HowToShape = Result<Shape> (*)(const v1::AimedFault& fault, uint32_t mtu);

// Refuses what link.down refuses of its interface (but a VLAN on it), a kernel without that kind of qdisc, and a root
// qdisc that could not be put back exactly: anything but the kernel's own default and a single tbf, pfifo or bfifo.
std::unique_ptr<Injector> MakeRootQdiscFault(HowToShape how);

// Whether the kernel has the qdisc and this process may set it. Asked by a request that cannot succeed (no options), on
// the loopback; the kernel may load its module for it.
v1::Capability ProbeRootQdiscFault(std::string_view kind, std::string_view qdisc);

}  // namespace triodrill
