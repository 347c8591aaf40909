// What the coordinator makes of what it hears, and what it asks the gate: as the shell does it.
#include <algorithm>

#include "coordinator/conduct/stepper.h"
#include "coordinator/gate/gate.h"
#include "coordinator/plan/plan.h"
#include "tests/sim/coordinator.h"

namespace triodrill::sim {
namespace {

constexpr Nanos kGatePatience = std::chrono::seconds(5);

// What a node would say that has nothing against it.
v1::Hello Agreeable(const std::string& node) {
  v1::Hello hello;
  hello.set_node(node);
  hello.set_shadow(true);
  hello.set_max_hold_ns(Nanos(std::chrono::hours(1)).count());
  for (const char* kind : {"process.kill", "process.pause", "cpu.throttle"}) hello.add_policy_faults(kind);
  return hello;
}

}  // namespace

void Coordinator::Step(const std::string& slot, int64_t step) {
  if (!alive_ || end_) return;
  v1::Fact fact;
  *fact.mutable_at() = conduct::ToFactInstant(Instant::Exactly(now()), state_.settings.epoch);
  if (state_.trial_open) fact.set_trial(plan_->trials(static_cast<int>(state_.trial)).number());
  fact.mutable_progress()->set_slot(slot);
  fact.mutable_progress()->set_node(slot.substr(0, slot.find('/')));
  fact.mutable_progress()->set_step(step);
  Write(fact);
  Feed(conduct::StepDone{slot, step});
}

void Coordinator::Report(v1::Meaning means, const std::string& named) {
  if (!alive_ || end_) return;
  ground_.Log("the pipeline reports ", v1::Meaning_Name(means), " ", named);
  v1::Fact fact;
  *fact.mutable_at() = conduct::ToFactInstant(Instant::Exactly(now()), state_.settings.epoch);
  if (state_.trial_open) fact.set_trial(plan_->trials(static_cast<int>(state_.trial)).number());
  fact.mutable_signal()->set_means(means);
  fact.mutable_signal()->set_named(named);
  Write(fact);
  Feed(conduct::Reported{means, named});
}

void Coordinator::Take(fleet::AgentEvent event) {
  using Kind = fleet::AgentEvent::Kind;
  if (!alive_ || end_) return;
  roster_.Take(event);
  if (event.kind == Kind::kSaid) return TakeSaid(event);
  if (event.kind == Kind::kClock) {
    if (question_) question_->clocks.erase(event.node);
    return;
  }
  ground_.Log("coordinator: ", event.node, event.kind == Kind::kLost ? " is lost: " : " is there", event.problem);
  if (event.kind == Kind::kLost) return Feed(conduct::AgentLost{event.node, event.problem});
  v1::CoordinatorSays watch;
  watch.mutable_watch()->mutable_rank_process();
  Send(event.node, std::move(watch));
  const auto& open = event.said.hello().open();
  Feed(conduct::AgentBack{event.node, {open.begin(), open.end()}});
}

void Coordinator::TakeSaid(const fleet::AgentEvent& event) {
  const v1::AgentSays& said = event.said;
  const auto map = [&](const v1::NodeInstant& at) { return fleet::ToCoordinator(event.offset, at); };
  if (said.has_prepared()) {
    Feed(conduct::PreparedSaid{said.prepared().shot(), said.prepared().problem(), said.prepared().resource(),
                               said.prepared().by_hand()});
  } else if (said.has_armed()) {
    Feed(conduct::ArmedSaid{said.armed().shot(), said.armed().problem()});
  } else if (said.has_landed()) {
    const v1::Landed& landed = said.landed();
    const bool blind = ground_.Is(Mutant::kPassWithoutLanding);
    Feed(conduct::LandedSaid{landed.shot(), map(landed.fired()), map(blind ? landed.fired() : landed.at()),
                             landed.evidence(), blind ? "" : landed.problem()});
  } else if (said.has_missed()) {
    Feed(conduct::MissedSaid{said.missed().shot(), Nanos(said.missed().late_ns())});
  } else if (said.has_reverted()) {
    const v1::Reverted& reverted = said.reverted();
    Feed(conduct::RevertedSaid{reverted.shot(), reverted.confirmed() || ground_.Is(Mutant::kConfirmUnseen),
                               map(reverted.at()), reverted.reason(), reverted.problem(), reverted.by_hand(),
                               reverted.foreign()});
  }
}

void Coordinator::Ask(int trial) {
  question_ = Question{trial, now() + kGatePatience, {}};
  roster_.ForgetOpen();
  for (const auto& [name, node] : roster_.nodes()) {
    v1::CoordinatorSays says;
    says.mutable_report_open_faults();
    Send(name, std::move(says));
    if (!links_[NumberOf(name)].greeted) continue;
    Measure(NumberOf(name));
    question_->clocks.insert(name);
  }
}

void Coordinator::AnswerGateIfReady() {
  if (!question_) return;
  const auto& nodes = roster_.nodes();
  const bool answered = question_->clocks.empty() &&
                        std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.second.open; });
  if (!answered && now() < question_->until) return;
  const gate::Situation situation = Look();
  question_.reset();
  gate::Decision decision = gate::Gate::Evaluate(situation);
  const std::string unfit = wire_.unfit();
  if (decision.permit && !unfit.empty()) ground_.Violate("a permit was given, and ", unfit);
  Feed(conduct::GateSaid{std::move(decision)});
}

gate::Situation Coordinator::Look() const {
  gate::Situation sight;
  sight.plan = plan_.get();
  sight.plan_digest = "plan";
  sight.digest_on_disk = "plan";
  sight.trial = question_->trial;
  const bool open = ground_.Is(Mutant::kGateFailsOpen);
  for (const auto& [name, node] : roster_.nodes()) {
    gate::NodeSight& one = sight.nodes[name];
    one.hello = node.hello;
    if (open && !one.hello) one.hello = Agreeable(name);
    one.open = open ? std::vector<v1::OpenFault>{} : node.open;
    const Link& link = links_.at(NumberOf(name));
    if (link.greeted && !question_->clocks.contains(name)) one.clock_uncertainty = Offset(link).Width();
    if (open && !one.clock_uncertainty) one.clock_uncertainty = Nanos(1000);
  }
  sight.targets.emplace();
  for (const v1::Shot& shot : plan_->trials(static_cast<int>(state_.trial)).shots()) {
    sight.targets->push_back(roster_.Resolve(shot, plan::ShotName(sight.trial, shot)));
  }
  sight.exclusive = true;
  sight.watchers_healthy = true;
  sight.baseline_steady = state_.baseline.has_value();
  sight.quiet = now() - state_.last_report.value_or(state_.settings.epoch);
  return sight;
}

}  // namespace triodrill::sim
