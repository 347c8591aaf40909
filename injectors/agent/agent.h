// The node agent put together: core, executor, watcher, link. Owned by main (or by a test).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "injectors/agent/core.h"
#include "injectors/journal/journal.h"
#include "triodrill/injector.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::agent {

// The journal as it was settled at start, before the coordinator was dialled.
struct Replayed {
  std::vector<ReplayOutcome> outcomes;
  std::vector<v1::Discharged> traces;  // of what others have undone before
  TimePoint begun;
  TimePoint done;
};
Replayed ReplayNow(UndoJournal& journal, Clock& clock);

struct AgentParts {
  Settings settings;
  std::string coordinator;  // unix:/absolute/path
  Clock& clock;
  UndoJournal& journal;
  Replayed replayed;
  std::function<std::unique_ptr<Injector>(std::string_view kind)> make;
  std::function<Status(const v1::AimedFault&)> protect;
  bool real_time = false;
};

class Agent {
 public:
  // Dials; returns at once, whether or not a coordinator is there.
  static Result<std::unique_ptr<Agent>> Start(AgentParts parts);
  virtual ~Agent() = default;  // as ShutDown()

  // Reverts everything, tells the coordinator, hangs up. False if an undo is not confirmed.
  virtual bool ShutDown() = 0;
};

}  // namespace triodrill::agent
