// link.rate: a token bucket (tbf) at the root of one interface. Stateless; see root_qdisc.h for what a crash leaves.
#pragma once

#include <memory>

#include "injectors/link/root_qdisc.h"

namespace triodrill {

// Also refused: a burst that no packet of the interface's size fits into.
std::unique_ptr<Injector> MakeLinkRate();
v1::Capability ProbeLinkRate();

Result<Shape> HowToRate(const v1::AimedFault& fault, uint32_t mtu);

}  // namespace triodrill
