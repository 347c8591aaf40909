// What the conductor is told and what it asks for. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "coordinator/gate/gate.h"
#include "triodrill/time.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::conduct {

// ---- events

struct Tick {};  // nothing but time has passed
struct StepDone {
  std::string slot;
  int64_t step = 0;
};
struct Reported {  // the pipeline said something
  v1::Meaning means = v1::MEANING_UNSPECIFIED;
  std::string named;  // "", node or slot
};
struct GateSaid {
  gate::Decision decision;
};
struct PreparedSaid {
  std::string shot;
  std::string problem;
  std::string resource;
  std::string by_hand;
};
struct ArmedSaid {
  std::string shot;
  std::string problem;
};
struct LandedSaid {
  std::string shot;
  Instant fired;
  Instant at;
  std::string evidence;
  std::string problem;
};
struct MissedSaid {
  std::string shot;
  Nanos late{};
};
struct RevertedSaid {
  std::string shot;
  bool confirmed = false;
  Instant at;
  std::string reason;
  std::string problem;
  std::string by_hand;
  bool foreign = false;
};
struct AgentLost {
  std::string node;
  std::string problem;
};
struct AgentBack {  // attached again after its journal was replayed
  std::string node;
  std::vector<v1::OpenFault> open;
};
struct AbortAsked {
  std::string by;
};
struct Trouble {  // the run cannot go on (the timeline cannot be written, the partition is gone)
  std::string problem;
};

struct Event {
  TimePoint now;
  std::variant<Tick, StepDone, Reported, GateSaid, PreparedSaid, ArmedSaid, LandedSaid, MissedSaid, RevertedSaid,
               AgentLost, AgentBack, AbortAsked, Trouble>
      what;
};

// ---- commands

struct WriteFact {
  v1::Fact fact;
};
struct AskGate {
  int trial = 0;
};
struct PrepareShot {
  gate::PermittedShot shot;  // only a permit makes one
};
struct ArmShot {
  std::string shot;
  std::string node;
  TimePoint fire_at;
};
struct CancelShot {
  std::string shot;
  std::string node;
};
struct RevertShot {
  std::string shot;
  std::string node;
};
struct RestartWorkload {
  std::string reason;
};
struct WatchFinely {
  bool on = false;
};
struct SayProgress {  // for a person who watches
  std::string text;
};
struct Finish {
  std::string outcome;  // finished, aborted, refused, broken
  std::string problem;
};

using Command = std::variant<WriteFact, AskGate, PrepareShot, ArmShot, CancelShot, RevertShot, RestartWorkload,
                             WatchFinely, SayProgress, Finish>;

}  // namespace triodrill::conduct
