#include "tests/sim/coordinator.h"

#include <algorithm>
#include <utility>

#include "coordinator/plan/plan.h"

namespace triodrill::sim {
namespace {

constexpr int kExchanges = 4;
constexpr const char* kRun = "run";

conduct::Settings Patience(TimePoint epoch) {
  conduct::Settings settings;
  settings.epoch = epoch;
  settings.land_within = std::chrono::seconds(4);
  settings.undo_within = std::chrono::seconds(8);
  settings.prepare_within = std::chrono::seconds(4);
  return settings;
}

}  // namespace

Coordinator::Coordinator(Ground& ground, std::shared_ptr<const v1::Plan> plan, Wire wire)
    : ground_(ground),
      plan_(std::move(plan)),
      wire_(std::move(wire)),
      state_(conduct::Begin(plan_, Patience(ground.schedule.now()), ground.schedule.now())),
      roster_(plan_->partition().spec()) {
  for (const auto& [name, node] : roster_.nodes()) links_[NumberOf(name)];
}

void Coordinator::Tick() {
  if (!alive_ || end_) return;
  for (auto& [node, link] : links_) {
    if (!link.up) continue;
    if (now() - link.heard > kLease) {
      wire_.hang_up(node);
      Lost(node, "silent for the lease");
    } else if (now() - link.renewed >= kLease / 4) {
      link.renewed = now();
      v1::CoordinatorSays says;
      says.mutable_lease();
      wire_.say(node, std::move(says));
    }
  }
  AnswerGateIfReady();
  Feed(conduct::Tick{});
}

void Coordinator::Die() {
  ground_.Log("the coordinator dies");
  alive_ = false;
}

void Coordinator::Abort() {
  if (alive_) Feed(conduct::AbortAsked{"a person"});
}

void Coordinator::Feed(decltype(conduct::Event::what) what) {
  if (end_ || !alive_) return;
  conduct::Reaction reaction = conduct::Step(std::move(state_), {now(), std::move(what)});
  state_ = std::move(reaction.state);
  for (conduct::Command& command : reaction.commands) Perform(command);
}

void Coordinator::Perform(conduct::Command& command) {
  using namespace conduct;  // NOLINT(google-build-using-namespace): its commands, here alone
  if (auto* write = std::get_if<WriteFact>(&command)) {
    Write(write->fact);
  } else if (auto* ask = std::get_if<AskGate>(&command)) {
    Ask(ask->trial);
  } else if (auto* prepare = std::get_if<PrepareShot>(&command)) {
    SendPrepare(prepare->shot);
  } else if (auto* arm = std::get_if<ArmShot>(&command)) {
    const Link& link = links_[NumberOf(arm->node)];
    if (!link.greeted) return;
    v1::CoordinatorSays says;
    says.mutable_arm()->set_shot(arm->shot);
    says.mutable_arm()->set_fire_at_node_ns(fleet::ToNode(Offset(link), arm->fire_at));
    Send(arm->node, std::move(says));
  } else if (auto* cancel = std::get_if<CancelShot>(&command)) {
    v1::CoordinatorSays says;
    says.mutable_cancel()->set_shot(cancel->shot);
    Send(cancel->node, std::move(says));
  } else if (auto* revert = std::get_if<RevertShot>(&command)) {
    v1::CoordinatorSays says;
    says.mutable_revert()->set_shot(revert->shot);
    Send(revert->node, std::move(says));
  } else if (std::holds_alternative<RestartWorkload>(command)) {
    wire_.restart_job();
  } else if (auto* said = std::get_if<SayProgress>(&command)) {
    ground_.Log("coordinator: ", said->text);
  } else if (auto* finish = std::get_if<Finish>(&command)) {
    ground_.Log("the run ends: ", finish->outcome, " ", finish->problem);
    end_ = *finish;
    for (auto& [node, link] : links_) {
      v1::CoordinatorSays says;
      says.mutable_goodbye();
      if (link.up) wire_.say(node, std::move(says));
    }
  }
}

void Coordinator::Write(const v1::Fact& fact) {
  facts_.push_back(fact);
  facts_.back().set_sequence(static_cast<int64_t>(facts_.size()) - 1);
  if (fact.has_landed() && !fact.landed().sham()) CheckLanded(fact);
  if (fact.has_reverted()) {
    all_confirmed_ = all_confirmed_ && fact.reverted().confirmed();
    if (fact.reverted().confirmed()) CheckReverted(fact);
  }
}

// The onset that is written down holds the instant at which it really was.
void Coordinator::CheckLanded(const v1::Fact& fact) {
  const Truth& truth = ground_.truth[fact.landed().shot()];
  if (!truth.applied) return ground_.Violate(fact.landed().shot(), " is said to have landed, and never was applied");
  const Nanos at = *truth.applied - state_.settings.epoch;
  if (at.count() < fact.at().earliest_ns() || at.count() > fact.at().latest_ns()) {
    ground_.Violate(fact.landed().shot(), " landed at ", at.count(), " ns, outside of ", fact.at().earliest_ns(), "~",
                    fact.at().latest_ns());
  }
}

// What is said to be undone is undone, by then.
void Coordinator::CheckReverted(const v1::Fact& fact) {
  Truth& truth = ground_.truth[fact.reverted().shot()];
  truth.said_undone = true;
  if (!truth.applied) return;
  if (!truth.cleared) return ground_.Violate(fact.reverted().shot(), " is said to be undone, and holds");
  const Nanos at = *truth.cleared - state_.settings.epoch;
  if (at.count() > fact.at().latest_ns()) {
    ground_.Violate(fact.reverted().shot(), " is said to be undone by ", fact.at().latest_ns(), " ns, and was at ",
                    at.count());
  }
}

// ---- the streams

void Coordinator::Lost(int node, const std::string& problem) {
  Link& link = links_[node];
  if (!link.up) return;
  const bool known = link.greeted;
  link = Link{};
  if (!known) return;
  fleet::AgentEvent event;
  event.kind = fleet::AgentEvent::Kind::kLost;
  event.node = Cat("n", node);
  event.at = now();
  event.problem = problem;
  Take(std::move(event));
}

void Coordinator::Heard(int node, const v1::AgentSays& says) {
  if (!alive_) return;
  Link& link = links_[node];
  link.heard = now();
  if (says.has_hello()) {
    link = Link{};
    link.up = true;
    link.heard = link.renewed = now();
    link.hello = says;
    v1::CoordinatorSays welcome;
    welcome.mutable_welcome()->set_run_id(kRun);
    const Nanos lease = ground_.Is(Mutant::kNoLease) ? Nanos(std::chrono::minutes(1)) : kLease;
    welcome.mutable_welcome()->set_lease_ns(lease.count());
    wire_.say(node, std::move(welcome));
    return Measure(node);
  }
  if (!link.up || says.has_heartbeat()) return;
  if (says.has_clock()) return Answered(node, says.clock());
  if (!link.greeted) {
    link.waiting.push_back(says);
  } else {
    Hear(node, says);
  }
}

void Coordinator::Hear(int node, const v1::AgentSays& says) {
  fleet::AgentEvent event;
  event.node = Cat("n", node);
  event.said = says;
  event.offset = Offset(links_[node]);
  event.at = now();
  Take(std::move(event));
}

void Coordinator::Measure(int node) {
  Link& link = links_[node];
  const bool under_way = link.probes_left > 0;
  link.probes_left = kExchanges;
  if (!under_way) Probe(node);
}

void Coordinator::Probe(int node) {
  Link& link = links_[node];
  link.asked = now();
  v1::CoordinatorSays says;
  says.mutable_clock()->set_sequence(++link.sequence);
  wire_.say(node, std::move(says));
}

void Coordinator::Answered(int node, const v1::ClockReply& reply) {
  Link& link = links_[node];
  if (reply.sequence() != link.sequence || link.probes_left == 0) return;
  link.offset.Add({link.asked, reply.received_node_ns(), reply.sent_node_ns(), now()});
  if (--link.probes_left > 0) return Probe(node);
  fleet::AgentEvent event;
  event.node = Cat("n", node);
  event.at = now();
  event.offset = Offset(link);
  event.kind = link.greeted ? fleet::AgentEvent::Kind::kClock : fleet::AgentEvent::Kind::kConnected;
  if (link.greeted) return Take(std::move(event));
  link.greeted = true;
  event.said = *link.hello;
  const std::vector<v1::AgentSays> waiting = std::exchange(link.waiting, {});
  Take(std::move(event));
  for (const v1::AgentSays& says : waiting) Hear(node, says);
}

fleet::OffsetBounds Coordinator::Offset(const Link& link) const {
  fleet::OffsetBounds bounds = link.offset.Bounds(now()).value_or(fleet::OffsetBounds{});
  if (ground_.Is(Mutant::kClockIsExact)) {
    bounds.earliest = bounds.latest = bounds.earliest + bounds.Width() / 2;
    bounds.drift_ppb = 0;
  }
  return bounds;
}

void Coordinator::Send(const std::string& node, v1::CoordinatorSays says) {
  const int number = NumberOf(node);
  if (links_[number].up) wire_.say(number, std::move(says));
}

void Coordinator::SendPrepare(const gate::PermittedShot& shot) {
  Truth& truth = ground_.truth[shot.name()];
  truth.node = shot.node();
  truth.permitted = true;
  truth.sham = shot.sham();
  v1::CoordinatorSays says;
  v1::Prepare* prepare = says.mutable_prepare();
  v1::AimedFault* fault = prepare->mutable_fault();
  fault->set_shot(shot.name());
  fault->set_run_id(kRun);
  fault->set_kind(shot.planned().kind());
  *fault->mutable_with() = shot.planned().with();
  *fault->mutable_target() = shot.identity();
  prepare->set_max_hold_ns(ToNanos(shot.planned().max_hold()).count());
  prepare->set_plan_digest(shot.plan_digest());
  prepare->set_sham(shot.sham() && !ground_.Is(Mutant::kShamFires));
  Send(shot.node(), std::move(says));
}

}  // namespace triodrill::sim
