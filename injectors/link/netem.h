// link.delay, link.loss and link.corrupt: netem at the root of one interface. Stateless; see root_qdisc.h for what a
// crash leaves. A kernel without netem refuses them before anything is changed.
#pragma once

#include <memory>

#include "injectors/link/root_qdisc.h"

namespace triodrill {

std::unique_ptr<Injector> MakeLinkDelay();
std::unique_ptr<Injector> MakeLinkLoss();
std::unique_ptr<Injector> MakeLinkCorrupt();
v1::Capability ProbeLinkDelay();
v1::Capability ProbeLinkLoss();
v1::Capability ProbeLinkCorrupt();

Result<Shape> HowToDelay(const v1::AimedFault& fault, uint32_t mtu);
Result<Shape> HowToLose(const v1::AimedFault& fault, uint32_t mtu);
Result<Shape> HowToCorrupt(const v1::AimedFault& fault, uint32_t mtu);

}  // namespace triodrill
