#include "injectors/agent/core.h"

#include <algorithm>

#include "injectors/journal/record.h"
#include "triodrill/text.h"

namespace triodrill::agent {
namespace {

constexpr size_t kMostRemembered = 1024;
// A shorter one would keep us busy renewing it, a longer one would hold a fault for nobody.
constexpr Nanos kShortestLease = std::chrono::milliseconds(100);
constexpr Nanos kLongestLease = std::chrono::minutes(1);

bool OfAShot(const v1::AgentSays& says) {
  return says.has_prepared() || says.has_armed() || says.has_landed() || says.has_missed() || says.has_reverted();
}

v1::AgentSays PreparedProblem(const std::string& shot, const std::string& problem) {
  v1::AgentSays says;
  says.mutable_prepared()->set_shot(shot);
  says.mutable_prepared()->set_problem(problem);
  return says;
}

}  // namespace

bool IsShotName(const std::string& name) {
  constexpr size_t kLongest = 128;
  if (name.empty() || name.size() > kLongest || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  });
}

Core::Core(Settings settings, const std::vector<ReplayOutcome>& replayed, TimePoint replay_begun, TimePoint replay_done,
           std::vector<v1::Discharged> traces)
    : settings_(std::move(settings)),
      approvals_(RulesOrNone(ApprovalRulesOf(settings_.policy))),
      traces_(std::move(traces)),
      started_(replay_begun) {
  for (const ReplayOutcome& one : replayed) {
    const std::string& shot = one.record.fault().shot();
    if (!IsShotName(shot)) {
      v1::OpenFault& open = unreadable_.emplace_back();
      open.set_resource(one.file);
      open.set_problem(one.problem);
      open.set_by_hand("triodrill-undo --list");
      continue;
    }
    v1::Reverted outcome;
    outcome.set_shot(shot);
    outcome.set_confirmed(one.confirmed);
    outcome.mutable_at()->set_earliest_node_ns(ToNanos(replay_begun));
    outcome.mutable_at()->set_latest_node_ns(ToNanos(replay_done));
    outcome.set_reason("replay");
    outcome.set_problem(one.problem);
    outcome.set_foreign(one.foreign);
    if (!one.confirmed) outcome.set_by_hand(one.record.by_hand());
    v1::AgentSays says;
    *says.mutable_reverted() = outcome;
    said_.emplace_back(replay_done, std::move(says));
    run_id_ = one.record.fault().run_id();
    shots_.emplace(shot, Shot(settings_.patience, one.record, std::move(outcome)));
  }
}

struct Core::Visitor {
  Core& core;
  TimePoint now;
  Actions& actions;

  void operator()(LinkUp) { core.OnLinkUp(actions); }
  void operator()(LinkDown) { core.OnLinkDown(actions); }
  void operator()(Heard& heard) { core.OnHeard(std::move(heard), now, actions); }
  void operator()(Tick) { core.OnTick(now, actions); }
  void operator()(ShutDown) {
    core.shutting_down_ = true;
    core.EndAll("shutdown", now, actions);
  }
  void operator()(PrepareEnded& ended) { core.OnPrepareEnded(std::move(ended), now, actions); }
  void operator()(const RecordEnded& ended) {
    if (Shot* shot = core.Find(ended.shot)) shot->OnRecorded(ended.status, now, actions);
  }
  void operator()(const ApplyEnded& ended) {
    if (Shot* shot = core.Find(ended.shot)) shot->OnApplied(ended, actions);
  }
  void operator()(const LookEnded& ended) {
    if (Shot* shot = core.Find(ended.shot)) shot->OnLooked(ended, actions);
  }
  void operator()(const RevertEnded& ended) {
    if (Shot* shot = core.Find(ended.shot)) shot->OnReverted(ended, actions);
  }
  void operator()(const DischargeEnded& ended) {
    if (Shot* shot = core.Find(ended.shot)) shot->OnDischarged(ended.status, now, actions);
  }
};

Actions Core::On(Event event, TimePoint now) {
  Actions actions;
  std::visit(Visitor{*this, now, actions}, event);
  Remember(actions, now);
  return actions;
}

void Core::Remember(const Actions& actions, TimePoint now) {
  for (const Action& action : actions) {
    const Say* say = std::get_if<Say>(&action);
    if (say != nullptr && OfAShot(say->what)) said_.emplace_back(now, say->what);
  }
  // While the stream is up, only what may still be under way when it breaks.
  while (!said_.empty() && ((connected_ && said_.front().first + lease_ < now) || said_.size() > kMostRemembered)) {
    said_.pop_front();
  }
}

Shot* Core::Find(const std::string& shot) {
  const auto found = shots_.find(shot);
  return found == shots_.end() ? nullptr : &found->second;
}

v1::OpenFaults Core::Open() const {
  v1::OpenFaults open;
  for (const auto& [id, shot] : shots_) {
    if (auto one = shot.Open()) *open.add_open() = *std::move(one);
  }
  for (const v1::OpenFault& one : unreadable_) *open.add_open() = one;
  return open;
}

void Core::OnLinkUp(Actions& actions) {
  v1::AgentSays says;
  v1::Hello& hello = *says.mutable_hello();
  hello.set_node(settings_.node);
  hello.set_agent_version(settings_.version);
  hello.set_boot_id(settings_.boot_id);
  hello.set_shadow(settings_.policy.shadow());
  for (const v1::Capability& capability : settings_.capabilities) *hello.add_capabilities() = capability;
  *hello.mutable_open() = Open().open();
  hello.set_max_hold_ns(ToNanos(settings_.policy.max_hold()).count());
  for (const std::string& kind : settings_.policy.faults()) hello.add_policy_faults(kind);
  hello.set_approvals(approvals_.wanted);
  for (const ApproverKey& approver : approvals_.approvers) hello.add_approver_keys(approver.key.id());
  hello.set_approvals_waived(approvals_.waived);
  actions.push_back(Say{std::move(says)});
}

void Core::OnLinkDown(Actions& actions) {
  connected_ = false;
  actions.push_back(DoWatch{});
}

void Core::OnHeard(Heard heard, TimePoint now, Actions& actions) {
  v1::CoordinatorSays& says = heard.says;
  last_heard_ = std::max(last_heard_, heard.at);
  switch (says.what_case()) {
    case v1::CoordinatorSays::kWelcome:
      OnWelcome(says.welcome(), now, actions);
      break;
    case v1::CoordinatorSays::kWatch:
      actions.push_back(DoWatch{std::move(*says.mutable_watch())});
      break;
    case v1::CoordinatorSays::kPrepare:
      OnPrepare(says.prepare(), heard.wall_s, actions);
      break;
    case v1::CoordinatorSays::kArm:
      OnArm(says.arm(), heard.wall_s, now, actions);
      break;
    case v1::CoordinatorSays::kCancel:
      EndOne(says.cancel().shot(), "cancelled", now, actions);
      break;
    case v1::CoordinatorSays::kRevert:
      EndOne(says.revert().shot(), "asked", now, actions);
      break;
    case v1::CoordinatorSays::kReportOpenFaults: {
      v1::AgentSays answer;
      *answer.mutable_open_faults() = Open();
      actions.push_back(Say{std::move(answer)});
      break;
    }
    case v1::CoordinatorSays::kGoodbye:
      EndAll("run over", now, actions);
      lease_ = Nanos(0);
      actions.push_back(DoWatch{});
      break;
    default:  // a renewal was heard, and that is all it wants; clock probes are the link's
      break;
  }
}

void Core::OnWelcome(const v1::Welcome& welcome, TimePoint now, Actions& actions) {
  connected_ = true;
  const Nanos asked(welcome.lease_ns());
  const bool granted = asked >= kShortestLease && asked <= kLongestLease;
  lease_ = granted ? asked : Nanos(0);
  lease_refusal_ = granted ? ""
                           : Cat("the coordinator asks for a lease of ", asked.count(), " ns; this agent grants ",
                                 kShortestLease.count(), " ns to ", kLongestLease.count(), " ns");
  next_heartbeat_ = now + lease_ / 4;
  if (welcome.run_id() == run_id_) {
    for (const auto& [at, says] : said_) actions.push_back(Say{says});
    said_.clear();  // and remembered anew as they go
    return;
  }
  // Whoever asked for these is not the one who is here.
  EndAll("another run", now, actions);
  std::erase_if(shots_, [](const auto& one) { return one.second.phase() == Shot::Phase::kOver; });
  said_.clear();
  run_id_ = welcome.run_id();
}

Nanos Core::HoldFor(const v1::Prepare& prepare) const {
  const Nanos allowed = ToNanos(settings_.policy.max_hold());
  const Nanos asked(prepare.max_hold_ns());
  return asked > Nanos(0) ? std::min(asked, allowed) : allowed;
}

void Core::OnArm(const v1::Arm& arm, std::optional<int64_t> wall_s, TimePoint now, Actions& actions) {
  Shot* const shot = Find(arm.shot());
  std::string problem = shot == nullptr ? "it was not prepared here" : "";
  // What was approved when it was prepared may have expired since.
  if (shot != nullptr && shot->phase() == Shot::Phase::kPrepared) problem = ApprovalRefusal(shot->ask(), wall_s);
  if (problem.empty()) {
    shot->OnArm(FromNanos(arm.fire_at_node_ns()), now, actions);
    return;
  }
  v1::AgentSays answer;
  answer.mutable_armed()->set_shot(arm.shot());
  answer.mutable_armed()->set_problem("arm shot " + arm.shot() + ": " + problem);
  actions.push_back(Say{std::move(answer)});
}

void Core::OnPrepare(const v1::Prepare& prepare, std::optional<int64_t> wall_s, Actions& actions) {
  const std::string& id = prepare.fault().shot();
  // A name is one shot's within a plan; a run may carry out several plans, one after the other.
  if (const Shot* known = Find(id);
      known != nullptr && known->phase() == Shot::Phase::kOver && known->ask().plan_digest() != prepare.plan_digest()) {
    shots_.erase(id);
  }
  if (const Shot* known = Find(id)) {
    const bool same = known->ask().SerializeAsString() == prepare.SerializeAsString();
    if (same) {
      known->OnPrepare(actions);
    } else {
      actions.push_back(Say{PreparedProblem(id, "prepare shot " + id + ": another fault has this name")});
    }
    return;
  }
  if (const std::string refusal = Refusal(prepare, wall_s); !refusal.empty()) {
    actions.push_back(Say{PreparedProblem(id, "prepare shot " + id + ": " + refusal)});
    return;
  }
  shots_.emplace(id, Shot(settings_.patience, prepare, HoldFor(prepare)));
  actions.push_back(DoPrepare{prepare.fault()});
}

std::string Core::WhoHoldsAResourceOf(const v1::UndoRecord& record) const {
  for (const auto& [id, shot] : shots_) {
    if (shot.phase() == Shot::Phase::kOver) continue;
    const std::string shared = SharedResource(shot.record(), record);
    if (!shared.empty()) return "shot " + id + " holds " + shared + " already";
  }
  return "";
}

void Core::OnPrepareEnded(PrepareEnded ended, TimePoint now, Actions& actions) {
  Shot* shot = Find(ended.shot);
  if (shot == nullptr) return;
  std::string problem;
  v1::UndoRecord record;
  if (!ended.record.ok()) {
    problem = std::string(ended.record.status().message());
  } else {
    record = *std::move(ended.record);
    const std::string held = WhoHoldsAResourceOf(record);
    if (record.resource().empty()) problem = "prepare shot " + ended.shot + ": its injector names no resource";
    if (!held.empty()) problem = "prepare shot " + ended.shot + ": " + held;
    record.set_format(1);
    if (!record.fault().has_target()) *record.mutable_fault() = shot->ask().fault();
    record.mutable_fault()->set_shot(ended.shot);
    record.mutable_fault()->set_run_id(shot->run_id());
    record.set_boot_id(settings_.boot_id);
    record.set_max_hold_ns(HoldFor(shot->ask()).count());
  }
  shot->OnPrepared(std::move(record), problem, now, actions);
  if (!problem.empty()) shots_.erase(ended.shot);  // the name is free: nothing has happened under it
}

void Core::EndAll(const std::string& reason, TimePoint now, Actions& actions) {
  for (auto& [id, shot] : shots_) {
    if (!shot.AtRest() || (shot.phase() == Shot::Phase::kStuck && shutting_down_)) shot.End(reason, now, actions);
  }
}

void Core::EndOne(const std::string& id, const std::string& reason, TimePoint now, Actions& actions) {
  if (Shot* shot = Find(id)) {
    shot->End(reason, now, actions);
    return;
  }
  v1::AgentSays says;
  if (std::optional<v1::Reverted> traced = Traced(id)) {
    *says.mutable_reverted() = *std::move(traced);
    actions.push_back(Say{std::move(says)});
    return;
  }
  // Not known is not the same as reverted.
  says.mutable_reverted()->set_shot(id);
  says.mutable_reverted()->set_reason(reason);
  says.mutable_reverted()->set_problem("revert shot " + id + ": it is not known here; next: triodrill-undo --list");
  actions.push_back(Say{std::move(says)});
}

std::optional<v1::Reverted> Core::Traced(const std::string& id) const {
  for (const v1::Discharged& trace : traces_) {
    // The same name means another shot in another run.
    if (trace.shot() != id || trace.run_id() != run_id_) continue;
    v1::Reverted outcome;
    outcome.set_shot(id);
    outcome.set_confirmed(true);
    outcome.set_reason("replay");
    const bool same_clock = trace.boot_id() == settings_.boot_id;
    outcome.mutable_at()->set_earliest_node_ns(same_clock ? trace.earliest_ns() : 0);
    outcome.mutable_at()->set_latest_node_ns(same_clock ? trace.latest_ns() : ToNanos(started_));
    return outcome;
  }
  return std::nullopt;
}

std::optional<TimePoint> Core::LeaseEnd() const {
  const bool matters =
      std::any_of(shots_.begin(), shots_.end(), [](const auto& one) { return one.second.NeedsCoordinator(); });
  if (!matters) return std::nullopt;
  return last_heard_ + lease_;
}

void Core::OnTick(TimePoint now, Actions& actions) {
  if (const auto end = LeaseEnd(); end && now >= *end) {
    EndAll("lease", now, actions);
    return;
  }
  for (auto& [id, shot] : shots_) shot.OnTick(now, actions);
  if (connected_ && lease_ > Nanos(0) && now >= next_heartbeat_) {
    next_heartbeat_ = now + lease_ / 4;
    v1::AgentSays says;
    says.mutable_heartbeat()->set_at_node_ns(ToNanos(now));
    actions.push_back(Say{std::move(says)});
  }
}

std::optional<Wake> Core::NextWake() const {
  std::optional<Wake> next;
  const auto consider = [&next](const Wake& wake) {
    if (!next || wake.at < next->at) next = wake;
  };
  for (const auto& [id, shot] : shots_) {
    if (const auto wake = shot.NextWake()) consider(*wake);
  }
  if (const auto end = LeaseEnd()) consider({*end, false});
  if (connected_ && lease_ > Nanos(0)) consider({next_heartbeat_, false});
  return next;
}

bool Core::AtRest() const {
  return std::all_of(shots_.begin(), shots_.end(), [](const auto& one) {
    const auto phase = one.second.phase();
    return one.second.AtRest() || phase == Shot::Phase::kPrepared;
  });
}

bool Core::UndoNotConfirmed() const {
  return !unreadable_.empty() || std::any_of(shots_.begin(), shots_.end(),
                                             [](const auto& one) { return one.second.phase() == Shot::Phase::kStuck; });
}

}  // namespace triodrill::agent
