#include "coordinator/conduct/conductor.h"

#include <utility>

#include "coordinator/conduct/stepper.h"
#include "triodrill/time.h"

namespace triodrill::conduct {

State Begin(std::shared_ptr<const v1::Plan> plan, const Settings& settings, TimePoint now) {
  State state;
  state.settings = settings;
  state.since = now;
  const v1::Baseline& baseline = plan->pipeline().spec().baseline();
  if (baseline.steps() > 0) state.steadiness.steps = baseline.steps();
  if (baseline.has_at_least()) state.steadiness.at_least = ToNanos(baseline.at_least());
  if (baseline.theta() > 0) state.steadiness.theta = baseline.theta();
  state.plan = std::move(plan);
  return state;
}

Reaction Step(State state, Event event) {
  Reaction reaction;
  reaction.state = std::move(state);
  Stepper stepper(reaction.state, event.now, reaction.commands);
  if (reaction.state.phase != Phase::kDone) {
    std::visit([&](auto& what) { stepper.On(std::move(what)); }, event.what);
    stepper.Advance();
  }
  return reaction;
}

}  // namespace triodrill::conduct
