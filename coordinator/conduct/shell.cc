#include "coordinator/conduct/shell.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/conduct/stepper.h"
#include "coordinator/plan/plan.h"
#include "reports/evidence/bundle.h"
#include "triodrill/slot.h"

namespace triodrill::conduct {
namespace {

constexpr std::chrono::milliseconds kTick{10};
constexpr Nanos kGatePatience = std::chrono::seconds(5);

template <typename... T>
struct Overloaded : T... {
  using T::operator()...;
};
template <typename... T>
Overloaded(T...) -> Overloaded<T...>;

}  // namespace

Shell::Shell(Surroundings surroundings, std::shared_ptr<const v1::Plan> plan, const Settings& settings)
    : around_(std::move(surroundings)),
      plan_(std::move(plan)),
      plan_digest_(PlanDigest(*plan_)),
      state_(Begin(plan_, settings, around_.clock.Now())),
      started_(around_.clock.Now()) {}

RunEnd Shell::Run() {
  Greet();
  while (!end_) {
    for (Arrival& arrival : around_.inbox.Pop(kTick)) {
      std::visit(Overloaded{[&](fleet::AgentEvent& event) { Take(std::move(event)); },
                            [&](std::vector<watch::Line>& lines) { Take(lines); },
                            [&](std::vector<watch::Observed>& seen) {
                              for (watch::Observed& one : seen) TakeSeen(std::move(one.fact), one.at);
                            },
                            [&](AbortAsked& asked) { Feed(std::move(asked)); }},
                 arrival);
    }
    if (const int64_t dropped = around_.inbox.TakeDropped(); dropped > 0) {
      Feed(Trouble{absl::StrCat(dropped, " log lines came faster than they could be taken in")});
    }
    AnswerGateIfReady();
    Feed(Tick{});
    around_.pulse(state_);
  }
  return *end_;
}

// Agents that attached before the run began: their watching starts with it.
void Shell::Greet() {
  for (const auto& [name, node] : around_.roster.nodes()) {
    if (!node.hello) continue;
    v1::Fact fact = NewFact(Instant::Exactly(around_.clock.Now()));
    fact.mutable_agent()->set_node(name);
    fact.mutable_agent()->set_connected(true);
    fact.mutable_agent()->set_agent_version(node.hello->agent_version());
    fact.mutable_agent()->set_approvals_waived(node.hello->approvals_waived());
    Write(fact);
    StartWatching(name);
  }
}

void Shell::StartWatching(const std::string& node) {
  v1::CoordinatorSays says;
  *says.mutable_watch()->mutable_rank_process() = plan_->pipeline().spec().workload().rank_process();
  Send(node, std::move(says));
}

void Shell::Feed(decltype(Event::what) what) {
  if (end_) return;
  Reaction reaction = Step(std::move(state_), {around_.clock.Now(), std::move(what)});
  state_ = std::move(reaction.state);
  for (Command& command : reaction.commands) Perform(std::move(command));
}

void Shell::Perform(Command command) {
  std::visit(Overloaded{
                 [&](WriteFact& write) {
                   if (write.fact.has_run_ended()) WriteLast(write.fact.run_ended().outcome() == "finished");
                   Write(write.fact);
                   if (Status status = around_.sync(); !status.ok()) timeline_broken_ = true;
                 },
                 [&](AskGate& ask) { Ask(ask.trial); },
                 [&](PrepareShot& prepare) { SendPrepare(prepare.shot); },
                 [&](ArmShot& arm) {
                   const Result<fleet::OffsetBounds> offset = around_.fleet.Offset(arm.node);
                   if (!offset.ok()) return;  // the agent is gone; its loss is on its way to the conductor
                   v1::CoordinatorSays says;
                   says.mutable_arm()->set_shot(arm.shot);
                   says.mutable_arm()->set_fire_at_node_ns(fleet::ToNode(*offset, arm.fire_at));
                   Send(arm.node, std::move(says));
                 },
                 [&](CancelShot& cancel) {
                   v1::CoordinatorSays says;
                   says.mutable_cancel()->set_shot(cancel.shot);
                   Send(cancel.node, std::move(says));
                 },
                 [&](RevertShot& revert) {
                   v1::CoordinatorSays says;
                   says.mutable_revert()->set_shot(revert.shot);
                   Send(revert.node, std::move(says));
                 },
                 [&](RestartWorkload& restart) {
                   const Status status = around_.restart_workload();
                   v1::Fact fact = NewFact(Instant::Exactly(around_.clock.Now()));
                   fact.mutable_workload()->set_event("restarted");
                   fact.mutable_workload()->set_detail(status.ok() ? restart.reason : std::string(status.message()));
                   Write(fact);
                 },
                 [&](WatchFinely& fine) { around_.watch_finely(fine.on); },
                 [&](SayProgress& progress) { around_.say(progress.text); },
                 [&](Finish& finish) {
                   end_ = RunEnd{finish.outcome, finish.problem, AllConfirmed(state_)};
                 },
             },
             command);
  if (timeline_broken_ && state_.broken.empty() && !end_) Feed(Trouble{"the timeline cannot be written"});
}

void Shell::Send(const std::string& node, v1::CoordinatorSays what) {
  // A node that cannot be reached is reported by the fleet as lost, and the conductor's own bounds end the waiting.
  if (Status status = around_.fleet.Send(node, std::move(what)); !status.ok()) {
    around_.say(absl::StrCat("cannot reach ", node, ": ", status.message()));
  }
}

void Shell::MeasureClock(const std::string& node) {
  // Without it the older, wider bounds stand.
  if (Status status = around_.fleet.Measure(node); !status.ok()) {
    around_.say(absl::StrCat("clock of ", node, " not measured anew: ", status.message()));
  }
}

void Shell::SendPrepare(const gate::PermittedShot& shot) {
  v1::CoordinatorSays says;
  v1::Prepare* prepare = says.mutable_prepare();
  v1::AimedFault* fault = prepare->mutable_fault();
  fault->set_shot(shot.name());
  fault->set_run_id(around_.run_id);
  fault->set_kind(shot.planned().kind());
  *fault->mutable_with() = shot.planned().with();
  *fault->mutable_target() = shot.identity();
  prepare->set_max_hold_ns(ToNanos(shot.planned().max_hold()).count());
  prepare->set_plan_digest(shot.plan_digest());
  prepare->set_sham(shot.sham());
  prepare->set_fault_id(shot.planned().fault_id());
  if (NeedsApproval(shot.planned().kind())) {
    const gate::Approvals shown = around_.approvals();
    for (const std::string& envelope : shown.envelopes) prepare->add_approvals(envelope);
  }
  Send(shot.node(), std::move(says));
}

void Shell::Write(const v1::Fact& fact) {
  if (timeline_broken_ || end_) return;  // RunEnded is the last fact
  if (Status status = around_.append(fact); !status.ok()) {
    timeline_broken_ = true;
    around_.say(absl::StrCat("the timeline cannot be written: ", status.message()));
  }
}

v1::Fact Shell::NewFact(const Instant& at) const {
  v1::Fact fact;
  *fact.mutable_at() = ToFactInstant(at, state_.settings.epoch);
  if (state_.trial_open) fact.set_trial(plan_->trials(static_cast<int>(state_.trial)).number());
  return fact;
}

Instant Shell::Map(const fleet::AgentEvent& event, const v1::NodeInstant& at) const {
  return fleet::ToCoordinator(event.offset, at);
}

void Shell::WriteClock(const fleet::AgentEvent& event) {
  v1::Fact fact = NewFact(Instant::Exactly(event.at));
  v1::ClockFact* clock = fact.mutable_clock();
  clock->set_node(event.node);
  clock->set_offset_earliest_ns(event.offset.earliest.count());
  clock->set_offset_latest_ns(event.offset.latest.count());
  clock->set_min_round_trip_ns(event.offset.min_round_trip.count());
  clock->set_exchanges(event.offset.exchanges);
  Write(fact);
}

void Shell::Take(fleet::AgentEvent event) {
  using Kind = fleet::AgentEvent::Kind;
  around_.roster.Take(event);
  if (event.kind == Kind::kSaid) return TakeSaid(event);
  if (event.kind == Kind::kClock) {
    WriteClock(event);
    if (question_) question_->clocks.erase(event.node);
    if (!event.problem.empty()) Feed(Trouble{absl::StrCat("clock of ", event.node, ": ", event.problem)});
    return;
  }
  v1::Fact fact = NewFact(Instant::Exactly(event.at));
  fact.mutable_agent()->set_node(event.node);
  fact.mutable_agent()->set_connected(event.kind == Kind::kConnected);
  fact.mutable_agent()->set_problem(event.problem);
  fact.mutable_agent()->set_agent_version(event.said.hello().agent_version());
  fact.mutable_agent()->set_approvals_waived(event.said.hello().approvals_waived());
  Write(fact);
  if (event.kind == Kind::kLost) return Feed(AgentLost{event.node, event.problem});
  StartWatching(event.node);  // attached anew: it watches for nobody yet
  const auto& open = event.said.hello().open();
  Feed(AgentBack{event.node, {open.begin(), open.end()}});
}

void Shell::TakeSaid(const fleet::AgentEvent& event) {
  const v1::AgentSays& said = event.said;
  switch (said.what_case()) {
    case v1::AgentSays::kPrepared:
      return Feed(PreparedSaid{said.prepared().shot(), said.prepared().problem(), said.prepared().resource(),
                               said.prepared().by_hand()});
    case v1::AgentSays::kArmed:
      return Feed(ArmedSaid{said.armed().shot(), said.armed().problem()});
    case v1::AgentSays::kLanded:
      return Feed(LandedSaid{said.landed().shot(), Map(event, said.landed().fired()), Map(event, said.landed().at()),
                             said.landed().evidence(), said.landed().problem()});
    case v1::AgentSays::kMissed:
      return Feed(MissedSaid{said.missed().shot(), Nanos(said.missed().late_ns())});
    case v1::AgentSays::kReverted: {
      const v1::Reverted& reverted = said.reverted();
      return Feed(RevertedSaid{reverted.shot(), reverted.confirmed(), Map(event, reverted.at()), reverted.reason(),
                               reverted.problem(), reverted.by_hand(), reverted.foreign()});
    }
    case v1::AgentSays::kProcess: {
      v1::Fact fact = NewFact(Map(event, said.process().at()));
      v1::ProcessFact* process = fact.mutable_process();
      process->set_node(event.node);
      process->set_slot(Slot{event.node, said.process().rank().local_rank()}.Name());
      process->set_rank(said.process().rank().rank());
      *process->mutable_process() = said.process().rank().process();
      process->set_appeared(said.process().change() == v1::PROCESS_APPEARED);
      return Write(fact);
    }
    case v1::AgentSays::kLink: {
      v1::Fact fact = NewFact(Map(event, said.link().at()));
      fact.mutable_link()->set_node(event.node);
      *fact.mutable_link()->mutable_link() = said.link().link();
      fact.mutable_link()->set_running(said.link().running());
      return Write(fact);
    }
    default:
      return;
  }
}

void Shell::Take(const std::vector<watch::Line>& lines) {
  for (const watch::Line& line : lines) {
    for (v1::Fact& match : around_.matcher.Match(line)) TakeSeen(std::move(match), line.at);
  }
}

void Shell::TakeSeen(v1::Fact seen, const Instant& at) {
  const v1::Fact fact = NewFact({std::max(at.earliest, state_.settings.epoch), at.latest});
  seen.set_trial(fact.trial());
  *seen.mutable_at() = fact.at();
  const bool progress = seen.has_progress();
  StepDone done{seen.progress().slot(), seen.progress().step()};
  Reported report{seen.signal().means(), seen.signal().named()};
  const bool signal = seen.has_signal();
  if (seen.signal().means() == v1::STATE) states_seen_.emplace(seen.signal().step(), seen.signal().shard());
  if (seen.has_monitoring_gap()) {
    around_.say(absl::StrCat(seen.monitoring_gap().problem(), seen.monitoring_gap().over() ? " (over)" : ""));
  }
  Write(seen);
  if (progress) Feed(std::move(done));
  if (signal) Feed(std::move(report));
}

// What the states that were seen ought to be. Everything is undone by now: the time that it takes disturbs nothing.
void Shell::WriteReference() {
  if (states_seen_.empty()) return;
  const Result<std::vector<v1::StateReference>> reference = around_.reference(states_seen_.rbegin()->first);
  v1::Fact fact = NewFact(Instant::Exactly(around_.clock.Now()));
  if (!reference.ok()) {
    fact.mutable_remark()->set_text(absl::StrCat("no states to compare with: ", reference.status().message()));
    around_.say(fact.remark().text());
    return Write(fact);
  }
  for (const v1::StateReference& state : *reference) {
    if (!states_seen_.contains({state.step(), state.shard()})) continue;
    *fact.mutable_state_reference() = state;
    Write(fact);
  }
}

void Shell::WriteLast(bool finished) {
  if (finished) WriteReference();
  for (v1::Fact& fact : around_.last_facts()) {
    *fact.mutable_at() = NewFact(Instant::Exactly(around_.clock.Now())).at();
    Write(fact);
  }
}

void Shell::Ask(int trial) {
  question_ = GateQuestion{trial, around_.clock.Now() + kGatePatience, {}};
  around_.roster.ForgetOpen();
  for (const auto& [name, node] : around_.roster.nodes()) {
    v1::CoordinatorSays says;
    says.mutable_report_open_faults();
    Send(name, std::move(says));
    if (around_.fleet.Measure(name).ok()) question_->clocks.insert(name);
  }
}

void Shell::AnswerGateIfReady() {
  if (!question_) return;
  const auto& nodes = around_.roster.nodes();
  const bool answered = question_->clocks.empty() &&
                        std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.second.open; });
  if (!answered && around_.clock.Now() < question_->until) return;
  const gate::Situation situation = Look();
  question_.reset();
  Feed(GateSaid{gate::Gate::Evaluate(situation)});
}

gate::Situation Shell::Look() const {
  gate::Situation now;
  now.plan = plan_.get();
  now.plan_digest = plan_digest_;
  now.trial = question_->trial;
  for (const auto& [name, node] : around_.roster.nodes()) {
    gate::NodeSight& sight = now.nodes[name];
    sight.hello = node.hello;
    sight.open = node.open;
    const Result<fleet::OffsetBounds> offset = around_.fleet.Offset(name);
    if (offset.ok() && !question_->clocks.contains(name)) sight.clock_uncertainty = offset->latest - offset->earliest;
  }
  now.targets.emplace();
  for (const v1::Shot& shot : plan_->trials(static_cast<int>(state_.trial)).shots()) {
    now.targets->push_back(around_.roster.Resolve(shot, plan::ShotName(now.trial, shot)));
  }
  now.approvals = around_.approvals();
  now.exclusive = around_.exclusive();
  now.watchers_healthy = around_.watchers_healthy();
  now.baseline_steady = state_.baseline.has_value();
  now.quiet = around_.clock.Now() - state_.last_report.value_or(started_);
  now.digest_on_disk = around_.plan_digest_on_disk();
  return now;
}

}  // namespace triodrill::conduct
