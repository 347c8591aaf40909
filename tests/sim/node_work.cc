// The work of a node's agent: what its core asks for is done here, one action after the other, and takes its time.
#include <algorithm>
#include <deque>

#include "tests/sim/node.h"

namespace triodrill::sim {

void Node::Feed(agent::Event event) {
  if (core_ == nullptr) return;
  if (ground_.schedule.now() < busy_until_) {
    const uint64_t life = life_;
    ground_.schedule.At(busy_until_, [this, life, event = std::move(event)] {
      if (life == life_) Feed(event);
    });
    return;
  }
  spent_ = Nanos(0);
  try {
    Work(std::move(event));
  } catch (const Died&) {
    return Die("in the middle of its work");
  }
  busy_until_ = TrueNow();
  spent_ = Nanos(0);
  ScheduleWake();
}

// As the executor does it: everything that follows from an event is done before the next one is taken.
void Node::Work(agent::Event event) {
  std::deque<agent::Action> todo;
  const auto decide = [this, &todo](agent::Event what) {
    for (agent::Action& action : core_->On(std::move(what), Clock())) todo.push_back(std::move(action));
  };
  decide(std::move(event));
  while (!todo.empty()) {
    const agent::Action action = std::move(todo.front());
    todo.pop_front();
    Step();
    if (auto ended = Perform(action)) {
      Step();
      decide(*std::move(ended));
    }
  }
}

void Node::ScheduleWake() {
  const uint64_t wake = ++wake_;
  const std::optional<agent::Wake> next = core_->NextWake();
  if (!next) return;
  // Back from the node's clock; the drift of so short a time is less than a timer's own error.
  Nanos in = std::max(Nanos(0), next->at - Clock());
  if (next->precise) {
    // A machine that is overloaded misses instants.
    if (ground_.random.Chance(0.02)) in += std::chrono::milliseconds(30);
  } else {
    in += ground_.random.Between(Nanos(0), Nanos(std::chrono::milliseconds(1)));
  }
  const uint64_t life = life_;
  ground_.schedule.At(std::max(ground_.schedule.now() + in + std::chrono::microseconds(1), busy_until_),
                      [this, life, wake] {
                        if (life != life_ || wake != wake_) return;
                        if (ground_.Is(Mutant::kLeaseOfOwnVoice)) {
                          v1::CoordinatorSays nothing;
                          nothing.mutable_lease();
                          Feed(agent::Heard{nothing, Clock()});
                        }
                        Feed(agent::Tick{});
                      });
}

std::optional<agent::Event> Node::Perform(const agent::Action& action) {
  return std::visit([this](const auto& what) { return Do(what); }, action);
}

std::optional<agent::Event> Node::Do(const agent::Say& what) {
  if (connected_) wire_.say(number_, what.what);
  return std::nullopt;
}

std::optional<agent::Event> Node::Do(const agent::DoWatch& what) {
  watching_ = what.watch.has_rank_process();
  if (!watching_ || !connected_) return std::nullopt;
  v1::AgentSays says;
  says.mutable_inventory();
  if (alive_) {
    v1::RankFound& found = *says.mutable_inventory()->add_ranks();
    *found.mutable_process() = Target().process();
    found.set_rank(number_);
  }
  wire_.say(number_, std::move(says));
  return std::nullopt;
}

std::optional<agent::Event> Node::Do(const agent::DoPrepare& what) {
  return agent::PrepareEnded{what.fault.shot(), MakeInjector()->Prepare(what.fault)};
}

std::optional<agent::Event> Node::Do(const agent::DoRecord& what) {
  Spend(100, 8000);
  if (ground_.Is(Mutant::kApplyBeforeRecord)) static_cast<void>(MakeInjector()->Apply(what.record));
  return agent::RecordEnded{what.record.fault().shot(), journal_->Record(what.record)};
}

std::optional<agent::Event> Node::Do(const agent::DoApply& what) {
  agent::ApplyEnded ended{what.record.fault().shot(), Clock(), {}, Ok()};
  if (!ground_.Is(Mutant::kApplyBeforeRecord)) ended.status = MakeInjector()->Apply(what.record);
  ended.done = Clock();
  if (ground_.Is(Mutant::kFireTwice)) {
    ground_.schedule.In(std::chrono::seconds(5), [this, life = life_, record = what.record] {
      if (life == life_ && alive_ && state_ == State::kHealthy) static_cast<void>(MakeInjector()->Apply(record));
    });
  }
  ground_.Log(name_, " applied ", ended.shot, ": ", ended.status.ToString());
  return ended;
}

std::optional<agent::Event> Node::Do(const agent::DoLook& what) {
  const TimePoint begun = Clock();
  Result<Effect> effect = MakeInjector()->Inspect(what.record);
  return agent::LookEnded{what.record.fault().shot(), begun, Clock(), std::move(effect)};
}

std::optional<agent::Event> Node::Do(const agent::DoRevert& what) {
  agent::RevertEnded ended{what.record.fault().shot(), Clock(), MakeInjector()->Revert(what.record)};
  ground_.Log(name_, " reverted ", ended.shot, ": ", ended.status.ToString());
  return ended;
}

std::optional<agent::Event> Node::Do(const agent::DoDischarge& what) {
  return agent::DischargeEnded{what.shot, journal_->Discharge(what.shot)};
}

// ---- the rank process

v1::Identity Node::Target() const {
  v1::Identity identity;
  identity.mutable_process()->set_pid(pid_);
  identity.mutable_process()->set_start_time_ticks(static_cast<uint64_t>(pid_));
  return identity;
}

void Node::TellOfRank(bool appeared) {
  if (!watching_ || !connected_) return;
  v1::AgentSays says;
  v1::ProcessSeen& seen = *says.mutable_process();
  seen.set_change(appeared ? v1::PROCESS_APPEARED : v1::PROCESS_ENDED);
  *seen.mutable_rank()->mutable_process() = Target().process();
  seen.mutable_rank()->set_rank(number_);
  seen.mutable_at()->set_earliest_node_ns(ToNanos(Clock()));
  seen.mutable_at()->set_latest_node_ns(ToNanos(Clock()));
  // Who watches looks now and then.
  const Nanos lag = ground_.random.Between(Nanos(0), Nanos(std::chrono::milliseconds(300)));
  ground_.schedule.In(lag, [this, life = life_, says] {
    if (life == life_ && connected_) wire_.say(number_, says);
  });
}

void Node::StartRank() {
  if (alive_) TellOfRank(false);
  if (state_ == State::kOurs) Cleared();  // it went with its process
  state_ = State::kHealthy;
  alive_ = true;
  ++pid_;
  TellOfRank(true);
}

void Node::ChangeByOthers() {
  if (state_ == State::kOurs) Cleared();
  state_ = State::kOthers;
  Disturb();
}

void Node::ChangeBackByOthers() {
  if (state_ == State::kOthers) state_ = State::kHealthy;
}

void Node::Cleared() { ground_.truth[held_by_].cleared = TrueNow(); }

// What must be true in the moment in which a fault is fired.
void Node::CheckFire(const v1::UndoRecord& record) {
  const std::string& shot = record.fault().shot();
  const Truth& truth = ground_.truth[shot];
  if (!truth.permitted) ground_.Violate(shot, " was fired without a permit");
  if (truth.sham) ground_.Violate(shot, " of a sham trial was fired");
  if (truth.said_undone) ground_.Violate(shot, " was fired after it was said to be undone");
  if (truth.applied) ground_.Violate(shot, " was fired a second time");
  if (!disk_.SurvivesPowerLoss(shot + ".undo")) {
    ground_.Violate(shot, " was fired, and its record would not survive a loss of power");
  }
  if (record.fault().target().process().pid() != pid_) ground_.Violate(shot, " was fired at another process");
  const Nanos silent = TrueNow() - heard_;
  if (silent > kLease + std::chrono::milliseconds(2)) {
    ground_.Violate(shot, " was fired ", silent.count() / 1'000'000, " ms after the coordinator was last heard");
  }
  const Nanos late = Clock() - FromNanos(fire_at_[shot]);
  if (late > std::chrono::milliseconds(21) || late < Nanos(0)) {
    ground_.Violate(shot, " was fired ", late.count() / 1000, " us after its instant");
  }
}

}  // namespace triodrill::sim
