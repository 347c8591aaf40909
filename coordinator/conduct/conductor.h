// The conductor: decides what happens next, from what has happened. Pure: `Step` takes the state and one event and
// gives the new state and the commands to perform; it reads no clock (every event carries its time) and touches
// nothing. The shell (shell.h) performs the commands. So a whole run can be replayed, simulated and tested from values.
//
// One trial: settle (baseline steady, detectors at rest) -> gate -> prepare, arm, fire, hold, revert -> observe until
// recovery and detection are seen or their deadlines pass -> cool down. Every fault that may have been recorded on a
// node is reverted, whatever else goes wrong; a trial that lost its ground is invalid, never a pass.
#pragma once

#include <memory>
#include <vector>

#include "coordinator/conduct/event.h"
#include "coordinator/conduct/state.h"

namespace triodrill::conduct {

struct Reaction {
  State state;
  std::vector<Command> commands;
};

State Begin(std::shared_ptr<const v1::Plan> plan, const Settings& settings, TimePoint now);

Reaction Step(State state, Event event);

}  // namespace triodrill::conduct
