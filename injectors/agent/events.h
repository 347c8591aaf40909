// What the agent's core is told and what it asks for: values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "triodrill/injector.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/fleet.pb.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill::agent {

// ---- From outside.
struct LinkUp {};  // a stream to the coordinator is there: it wants a Hello
struct LinkDown {};
struct Heard {
  v1::CoordinatorSays says;
  TimePoint at;                                  // when it was read off the stream
  std::optional<int64_t> wall_s = std::nullopt;  // CLOCK_REALTIME then, for what expires; nullopt: it cannot be read
};
struct Tick {};  // time has passed
struct ShutDown {};

// ---- How an action ended. Times are the node's CLOCK_MONOTONIC around the call.
struct PrepareEnded {
  std::string shot;
  Result<v1::UndoRecord> record;
};
struct RecordEnded {
  std::string shot;
  Status status;
};
struct ApplyEnded {
  std::string shot;
  TimePoint begun;
  TimePoint done;
  Status status;
};
struct LookEnded {
  std::string shot;
  TimePoint begun;
  TimePoint done;
  Result<Effect> effect;
};
struct RevertEnded {
  std::string shot;
  TimePoint begun;
  Status status;
};
struct DischargeEnded {
  std::string shot;
  Status status;
};

using Event = std::variant<LinkUp, LinkDown, Heard, Tick, ShutDown, PrepareEnded, RecordEnded, ApplyEnded, LookEnded,
                           RevertEnded, DischargeEnded>;

// ---- What is asked for. Every Do… but DoWatch ends in its …Ended.
struct Say {
  v1::AgentSays what;
};
struct DoPrepare {
  v1::AimedFault fault;
};
// `until` is when the fault is over at the latest, on the node's monotonic clock.
struct DoRecord {
  v1::UndoRecord record;
  TimePoint until;
};
struct DoApply {
  v1::UndoRecord record;
};
struct DoLook {
  v1::UndoRecord record;
};
struct DoRevert {
  v1::UndoRecord record;
};
struct DoDischarge {
  std::string shot;
};
// Report the job's processes and the node's links from now on; without a rank process: stop.
struct DoWatch {
  v1::Watch watch;
};

using Action = std::variant<Say, DoPrepare, DoRecord, DoApply, DoLook, DoRevert, DoDischarge, DoWatch>;
using Actions = std::vector<Action>;

// When the core wants its next Tick. Precise: a fault is to be fired; wake early and spin.
struct Wake {
  TimePoint at;
  bool precise = false;
};

}  // namespace triodrill::agent
