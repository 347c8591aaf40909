// Performs what the core asks for: one thread that waits for the instant, calls the injectors and keeps the journal.
// Nothing else touches these. What a crash leaves is one record for each fault that may be there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "injectors/agent/core.h"
#include "injectors/agent/events.h"
#include "injectors/agent/waiter.h"
#include "injectors/journal/journal.h"
#include "triodrill/injector.h"
#include "triodrill/time.h"

namespace triodrill::agent {

class Executor {
 public:
  struct Parts {
    Clock& clock;
    UndoJournal& journal;
    std::function<std::unique_ptr<Injector>(std::string_view kind)> make;
    std::function<Status(const v1::AimedFault&)> protect;  // whether the node's policy protects the target
    std::function<void(v1::AgentSays)> say;                // must not block
    std::function<void(v1::Watch)> watch;                  // must not block
    bool real_time = false;
  };

  // Starts the thread.
  static Result<std::unique_ptr<Executor>> Start(Core core, Parts parts);

  // As ShutDown(), if that was not called.
  ~Executor();

  // From any thread.
  void Post(Event event);

  // Reverts everything that is open and ends the thread; returns once that is done, which is bounded by the core's
  // patience. False if an undo is not confirmed.
  bool ShutDown();

 private:
  Executor(Core core, Parts parts, Waiter waiter);

  void Run();
  void Feed(Event event);
  // How it ended, unless nobody wants to know.
  std::optional<Event> Perform(const Action& action);
  std::optional<Event> Do(const Say& what);
  std::optional<Event> Do(const DoWatch& what);
  std::optional<Event> Do(const DoPrepare& what);
  std::optional<Event> Do(const DoRecord& what);
  std::optional<Event> Do(const DoApply& what);
  std::optional<Event> Do(const DoLook& what);
  std::optional<Event> Do(const DoRevert& what);
  std::optional<Event> Do(const DoDischarge& what);
  Result<Injector*> InjectorOf(const v1::AimedFault& fault);

  Core core_;
  const Parts parts_;
  Waiter waiter_;
  std::map<std::string, std::unique_ptr<Injector>> injectors_;

  std::mutex mutex_;
  std::vector<Event> inbox_;
  bool confirmed_ = false;  // set by the thread, read once it has ended
  std::thread thread_;
};

}  // namespace triodrill::agent
