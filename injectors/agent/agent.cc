#include "injectors/agent/agent.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <utility>

#include "injectors/agent/executor.h"
#include "injectors/agent/link.h"
#include "injectors/agent/watcher.h"
#include "injectors/os/clock.h"

namespace triodrill::agent {
namespace {

class WiredAgent final : public Agent {
 public:
  ~WiredAgent() override { ShutDown(); }

  Status Wire(AgentParts parts) {
    const auto say = [this](v1::AgentSays what) {
      if (Link* link = wire_.load()) link->Say(std::move(what));
    };
    TRIODRILL_ASSIGN_OR_RETURN(watcher_, Watcher::Start(parts.clock, say));
    Core core(std::move(parts.settings), parts.replayed.outcomes, parts.replayed.begun, parts.replayed.done,
              std::move(parts.replayed.traces));
    TRIODRILL_ASSIGN_OR_RETURN(
        executor_,
        Executor::Start(std::move(core), {.clock = parts.clock,
                                          .journal = parts.journal,
                                          .make = std::move(parts.make),
                                          .protect = std::move(parts.protect),
                                          .say = say,
                                          .watch = [this](v1::Watch what) { watcher_->Watch(std::move(what)); },
                                          .real_time = parts.real_time}));
    Link::Listener listener;
    listener.up = [this](Link& link) {
      wire_ = &link;  // Dial may not have returned yet
      executor_->Post(LinkUp{});
    };
    listener.heard = [this](v1::CoordinatorSays says, TimePoint at) {
      executor_->Post(Heard{std::move(says), at, WallSeconds()});
    };
    listener.down = [this](const std::string& why) {
      spdlog::info("the stream ended: {}", why);
      executor_->Post(LinkDown{});
    };
    TRIODRILL_ASSIGN_OR_RETURN(link_, Link::Dial(parts.coordinator, parts.clock, std::move(listener)));
    return Ok();
  }

  bool ShutDown() override {
    const bool confirmed = executor_ == nullptr || executor_->ShutDown();
    watcher_ = nullptr;
    // The last words are said by now; what the link still hears ends in an inbox that nobody reads.
    link_ = nullptr;
    return confirmed;
  }

 private:
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<Link> link_;
  std::atomic<Link*> wire_ = nullptr;
};

}  // namespace

Replayed ReplayNow(UndoJournal& journal, Clock& clock) {
  Replayed replayed;
  replayed.begun = clock.Now();
  replayed.outcomes = Replay(journal);
  replayed.done = clock.Now();
  for (const ReplayOutcome& one : replayed.outcomes) {
    if (one.confirmed) {
      spdlog::warn("undo record {} of an earlier agent: reverted and confirmed", one.file);
    } else {
      spdlog::error("undo record {} of an earlier agent: {}; by hand: {}", one.file, one.problem,
                    one.record.by_hand().empty() ? "triodrill-undo --list" : one.record.by_hand());
    }
  }
  return replayed;
}

Result<std::unique_ptr<Agent>> Agent::Start(AgentParts parts) {
  auto agent = std::make_unique<WiredAgent>();
  TRIODRILL_RETURN_IF_ERROR(agent->Wire(std::move(parts)));
  return agent;
}

}  // namespace triodrill::agent
