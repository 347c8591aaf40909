#include "injectors/agent/executor.h"

#include <spdlog/spdlog.h>

#include <deque>
#include <utility>

#include "injectors/os/clock.h"

namespace triodrill::agent {

Executor::Executor(Core core, Parts parts, Waiter waiter)
    : core_(std::move(core)), parts_(std::move(parts)), waiter_(std::move(waiter)) {}

Result<std::unique_ptr<Executor>> Executor::Start(Core core, Parts parts) {
  TRIODRILL_ASSIGN_OR_RETURN(Waiter waiter, Waiter::Make(parts.clock));
  std::unique_ptr<Executor> executor(new Executor(std::move(core), std::move(parts), std::move(waiter)));
  executor->thread_ = std::thread([raw = executor.get()] { raw->Run(); });
  return executor;
}

Executor::~Executor() { ShutDown(); }

bool Executor::ShutDown() {
  if (thread_.joinable()) {
    Post(triodrill::agent::ShutDown{});
    thread_.join();
  }
  return confirmed_;
}

void Executor::Post(Event event) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(event));
  }
  waiter_.Call();
}

void Executor::Run() {
  if (parts_.real_time) {
    if (const Status status = BecomeRealTime(); !status.ok()) {
      spdlog::warn("{}; fires may come late by more when the node is busy", std::string(status.message()));
    }
  }
  bool shutting_down = false;
  while (!shutting_down || !core_.AtRest()) {
    waiter_.Wait(core_.NextWake());
    std::vector<Event> events;
    {
      const std::lock_guard lock(mutex_);
      events.swap(inbox_);
    }
    for (Event& event : events) {
      shutting_down = shutting_down || std::holds_alternative<triodrill::agent::ShutDown>(event);
      Feed(std::move(event));
    }
    const auto wake = core_.NextWake();
    if (wake && wake->at <= parts_.clock.Now()) Feed(Tick{});
  }
  confirmed_ = !core_.UndoNotConfirmed();
}

// One event from outside and all that follows from it.
void Executor::Feed(Event event) {
  std::deque<Action> todo;
  const auto decide = [this, &todo](Event what) {
    for (Action& action : core_.On(std::move(what), parts_.clock.Now())) todo.push_back(std::move(action));
  };
  decide(std::move(event));
  while (!todo.empty()) {
    const Action action = std::move(todo.front());
    todo.pop_front();
    if (auto outcome = Perform(action)) decide(*std::move(outcome));
  }
}

std::optional<Event> Executor::Perform(const Action& action) {
  return std::visit([this](const auto& what) { return Do(what); }, action);
}

std::optional<Event> Executor::Do(const Say& what) {
  parts_.say(what.what);
  return std::nullopt;
}

std::optional<Event> Executor::Do(const DoWatch& what) {
  parts_.watch(what.watch);
  return std::nullopt;
}

Result<Injector*> Executor::InjectorOf(const v1::AimedFault& fault) {
  auto& injector = injectors_[fault.kind()];
  if (injector == nullptr) injector = parts_.make(fault.kind());
  if (injector == nullptr) return absl::UnimplementedError("this agent has no injector of " + fault.kind());
  return injector.get();
}

std::optional<Event> Executor::Do(const DoPrepare& what) {
  const auto prepare = [this, &what]() -> Result<v1::UndoRecord> {
    TRIODRILL_ASSIGN_OR_RETURN(Injector * injector, InjectorOf(what.fault));
    TRIODRILL_RETURN_IF_ERROR(parts_.protect(what.fault));
    return injector->Prepare(what.fault);
  };
  return PrepareEnded{what.fault.shot(), prepare()};
}

std::optional<Event> Executor::Do(const DoRecord& what) {
  v1::UndoRecord record = what.record;
  const Nanos left = what.until - parts_.clock.Now();
  record.set_expires_boottime_ns((SinceBoot() + left).count());
  record.set_written_wall_ns(WallTime().count());
  return RecordEnded{record.fault().shot(), parts_.journal.Record(record)};
}

std::optional<Event> Executor::Do(const DoApply& what) {
  const v1::AimedFault& fault = what.record.fault();
  const Result<Injector*> injector = InjectorOf(fault);
  ApplyEnded ended{fault.shot(), parts_.clock.Now(), {}, injector.status()};
  if (injector.ok()) ended.status = (*injector)->Apply(what.record);
  ended.done = parts_.clock.Now();
  spdlog::info("shot {}: applied {}: {}", fault.shot(), fault.kind(), ended.status.ToString());
  return ended;
}

std::optional<Event> Executor::Do(const DoLook& what) {
  const v1::AimedFault& fault = what.record.fault();
  const Result<Injector*> injector = InjectorOf(fault);
  const TimePoint begun = parts_.clock.Now();
  Result<Effect> effect = injector.ok() ? (*injector)->Inspect(what.record) : injector.status();
  return LookEnded{fault.shot(), begun, parts_.clock.Now(), std::move(effect)};
}

std::optional<Event> Executor::Do(const DoRevert& what) {
  const v1::AimedFault& fault = what.record.fault();
  const Result<Injector*> injector = InjectorOf(fault);
  RevertEnded ended{fault.shot(), parts_.clock.Now(), injector.status()};
  if (injector.ok()) ended.status = (*injector)->Revert(what.record);
  spdlog::info("shot {}: reverted {}: {}", fault.shot(), fault.kind(), ended.status.ToString());
  return ended;
}

std::optional<Event> Executor::Do(const DoDischarge& what) {
  return DischargeEnded{what.shot, parts_.journal.Discharge(what.shot)};
}

}  // namespace triodrill::agent
