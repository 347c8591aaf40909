#include "tests/sim/world.h"

#include <algorithm>
#include <memory>

#include "coordinator/plan/plan.h"
#include "reports/evidence/derive.h"
#include "tests/sim/coordinator.h"
#include "tests/sim/ground.h"
#include "tests/sim/job.h"
#include "tests/sim/network.h"
#include "tests/sim/node.h"
#include "tests/unit/plan/world.h"

namespace triodrill::sim {
namespace {

using testing::Seconds;

constexpr int kNodes = 3;
constexpr Nanos kTick = std::chrono::milliseconds(10);
constexpr Nanos kLongest = std::chrono::minutes(4);
constexpr Nanos kLeaseSlack = std::chrono::milliseconds(250);  // from the lease's end until all is reverted
constexpr Nanos kMaxHold = std::chrono::seconds(10);           // of the nodes' policy

v1::Plan DrawPlan(Random& random) {
  v1::Drill drill = testing::EmptyDrill(static_cast<int>(random.Between(1, 2)), static_cast<int>(random.Below(2)));
  v1::DrillSpec& spec = *drill.mutable_spec();
  spec.mutable_trials()->set_seed(static_cast<int64_t>(random.Below(1'000'000)));
  *spec.mutable_trials()->mutable_cooldown() = Seconds(0.3);
  *spec.mutable_deadline()->mutable_detection() = Seconds(4);
  *spec.mutable_deadline()->mutable_recovery() = Seconds(8);
  const char* const kinds[] = {"process.pause", "process.pause", "cpu.throttle", "process.kill"};
  const std::string kind = kinds[random.Below(4)];
  v1::Fault& fault = testing::AddFault(drill, "fault", kind);
  if (kind == "process.pause") {
    fault.mutable_hold()->set_until("isolated");
    *fault.mutable_hold()->mutable_max() = Seconds(3);
  } else if (kind == "cpu.throttle") {
    *fault.mutable_hold()->mutable_for_() = Seconds(1.5);
  }
  plan::Request request = testing::RequestOf(drill);
  v1::PipelineSpec& pipeline = *request.pipeline.mutable_spec();
  *pipeline.mutable_at_rest()->mutable_quiet() = Seconds(0.5);
  pipeline.mutable_baseline()->set_steps(10);
  *pipeline.mutable_baseline()->mutable_at_least() = Seconds(1);
  *pipeline.mutable_baseline()->mutable_deadline() = Seconds(8);
  return *plan::MakePlan(request).plan;
}

class World {
 public:
  World(const Wish& wish, const std::string& scratch);
  Found Run();

 private:
  void Tick();
  void Make(const Planned& trouble);
  void MakeOfDisk(const Planned& trouble, Node& node);
  void Later(Nanos in, std::function<void()> what) { ground_.schedule.In(in, std::move(what)); }
  std::string Unfit() const;
  void CheckAlways();
  void CheckEnd();
  void CheckVerdict();
  void Heal();
  void CheckAtRest();
  Node& At(int node) { return *nodes_[static_cast<size_t>(node)]; }

  const Wish wish_;
  Ground ground_;
  const std::vector<Planned> troubles_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Job> job_;
  std::vector<std::optional<TimePoint>> held_since_{kNodes};
  bool end_checked_ = false;
  bool healed_ = false;
};

World::World(const Wish& wish, const std::string& scratch)
    : wish_(wish), ground_(wish.seed), troubles_(DrawTroubles(wish.seed, wish.favoured)) {
  ground_.mutant = wish.mutant;
  ground_.talk = wish.talk;
  ground_.schedule.RunUntil(TimePoint(std::chrono::hours(1)));  // no clock begins at zero
  network_ = std::make_unique<Network>(
      ground_, Network::Ends{
                   [this](int node) { At(node).Connected(); },
                   [this](int node) { At(node).Disconnected(); },
                   [this](int node, const v1::CoordinatorSays& says) {
                     if (!says.has_clock()) return At(node).Deliver(says);
                     if (!At(node).running()) return;
                     v1::AgentSays answer;
                     *answer.mutable_clock() = At(node).Answer(says.clock());
                     network_->Say(node, answer);
                   },
                   [this](int node, const v1::AgentSays& says) { coordinator_->Heard(node, says); },
                   [this](int node, const char* problem) { coordinator_->Lost(node, problem); },
               });
  for (int i = 0; i < kNodes; ++i) {
    nodes_.push_back(
        std::make_unique<Node>(ground_, i, scratch,
                               Node::Wire{[this](int node) { network_->Dial(node); },
                                          [this](int node, v1::AgentSays says) { network_->Say(node, says); },
                                          [this](int node) { network_->NodeHangsUp(node); }}));
  }
  coordinator_ = std::make_unique<Coordinator>(
      ground_, std::make_shared<v1::Plan>(DrawPlan(ground_.random)),
      Coordinator::Wire{[this](int node, v1::CoordinatorSays says) { network_->Say(node, says); },
                        [this](int node) { network_->CoordinatorHangsUp(node); }, [this] { job_->Restart(); },
                        [this] { return Unfit(); }});
  job_ = std::make_unique<Job>(ground_, nodes_, *coordinator_);
}

Found World::Run() {
  for (const auto& node : nodes_) node->Start();
  job_->Start();
  Tick();
  Found found;
  for (size_t i = 0; i < troubles_.size(); ++i) {
    found.troubles.push_back(troubles_[i].Text());
    if (wish_.without.contains(i)) continue;
    Later(troubles_[i].at, [this, i] { Make(troubles_[i]); });
  }
  const TimePoint end = ground_.schedule.now() + kLongest;
  while (ground_.schedule.now() < end && coordinator_->alive() && !coordinator_->finished()) {
    ground_.schedule.RunUntil(ground_.schedule.now() + std::chrono::seconds(1));
  }
  if (coordinator_->alive() && !coordinator_->finished()) ground_.Violate("the run does not end");
  ground_.schedule.RunUntil(ground_.schedule.now() + kLease + std::chrono::seconds(3));
  Heal();
  ground_.schedule.RunUntil(ground_.schedule.now() + std::chrono::seconds(12));
  CheckAtRest();
  found.violations = ground_.violations;
  found.log = std::move(ground_.log);
  found.digest = ground_.digest;
  if (coordinator_->finished()) found.outcome = coordinator_->outcome();
  for (const auto& [shot, truth] : ground_.truth) found.landed += truth.applied ? 1 : 0;
  return found;
}

void World::Tick() {
  coordinator_->Tick();
  CheckAlways();
  if (coordinator_->finished() && !end_checked_) {
    end_checked_ = true;
    CheckEnd();
  }
  Later(kTick, [this] { Tick(); });
}

// ---- what goes wrong

void World::Make(const Planned& trouble) {
  if (healed_) return;
  ground_.Log("trouble: ", trouble.Text());
  Node& node = At(trouble.node);
  switch (trouble.what) {
    case Trouble::kAgentDies:
      node.Disturb();
      return node.Die("killed");
    case Trouble::kAgentDiesWithinSteps:
      node.Disturb();
      node.dies_after = trouble.count;
      return;
    case Trouble::kPowerLoss:
      return node.LosePower();
    case Trouble::kCutOff:
      network_->CutOff(trouble.node);
      return Later(trouble.lasting, [this, which = trouble.node] { network_->Heal(which); });
    case Trouble::kStreamBreaks:
      return network_->Break(trouble.node);
    case Trouble::kCoordinatorDies:
      coordinator_->Die();
      if (trouble.count % 2 == 0) {  // its machine lives: the streams are closed
        for (int i = 0; i < kNodes; ++i) network_->CoordinatorHangsUp(i);
      }
      return network_->CoordinatorIsGone();
    case Trouble::kAbort:
      return coordinator_->Abort();
    case Trouble::kOthersChange:
      node.ChangeByOthers();
      return Later(trouble.lasting, [&node] {
        node.Disturb();
        node.ChangeBackByOthers();
      });
    case Trouble::kRankRestarts:
      return node.StartRank();
    case Trouble::kWallClockSteps:
      node.wall_step += trouble.count % 2 == 0 ? std::chrono::hours(1) : -std::chrono::hours(1);
      return;
    case Trouble::kPipelineBlind:
      job_->blind = true;
      return;
    case Trouble::kSlowNetwork:
      network_->slow = std::chrono::milliseconds(trouble.count * 3);
      return Later(trouble.lasting, [this] { network_->slow = Nanos(0); });
    default:
      return MakeOfDisk(trouble, node);
  }
}

void World::MakeOfDisk(const Planned& trouble, Node& node) {
  node.Disturb();
  switch (trouble.what) {
    case Trouble::kSyncFails:
      node.disk().failing_syncs = trouble.count % 3 + 1;
      return;
    case Trouble::kDiskFull:
      node.disk().full = true;
      return Later(trouble.lasting, [&node] {
        node.Disturb();
        node.disk().full = false;
      });
    case Trouble::kRevertFails:
      node.failing_reverts = trouble.count;
      return;
    case Trouble::kLookFails:
      node.failing_looks = trouble.count;
      return;
    case Trouble::kApplyFails:
      node.failing_applies = 1;
      return;
    case Trouble::kNeverLands:
      node.lands = false;
      return;
    case Trouble::kRecordRots:
      return node.disk().Rot(".undo", ground_.random);
    case Trouble::kNoGuardian:
      node.guarded = false;
      return;
    default:
      return;
  }
}

void World::Heal() {
  healed_ = true;
  network_->slow = Nanos(0);
  for (int i = 0; i < kNodes; ++i) {
    network_->Heal(i);
    Node& node = At(i);
    node.dies_after.reset();
    node.failing_applies = node.failing_reverts = node.failing_looks = 0;
    node.disk().failing_syncs = 0;
    node.disk().full = false;
    node.ChangeBackByOthers();
    // As a person does it who reads that an undo was not confirmed: the agent is started again.
    node.guarded = false;
    node.Die("healed");
  }
}

// ---- what must be true

// Why no permit may be given now; "" if one may.
std::string World::Unfit() const {
  for (const auto& node : nodes_) {
    if (node->state() == Node::State::kOurs) return Cat(node->name(), " is held");
    // The coordinator has had the time to see it.
    if (!node->running() && ground_.schedule.now() - node->gone_since() > kLease + std::chrono::seconds(1)) {
      return Cat(node->name(), "'s agent is gone");
    }
    for (const std::string& file : node->disk().Names(".undo")) return Cat(node->name(), " owes the undo ", file);
  }
  return "";
}

// At every moment.
void World::CheckAlways() {
  const TimePoint now = ground_.schedule.now();
  int held = 0;
  for (int i = 0; i < kNodes; ++i) {
    const Node& node = At(i);
    std::optional<TimePoint>& since = held_since_[static_cast<size_t>(i)];
    if (node.state() != Node::State::kOurs) {
      since.reset();
      continue;
    }
    ++held;
    if (!since) since = now;
    if (!node.running() || node.says_undo_is_owed()) continue;
    const TimePoint calm = std::max(node.undisturbed_since(), *since);
    if (now - calm > kMaxHold + std::chrono::seconds(2)) {
      ground_.Violate(node.name(), " is held beyond its maximum");
      since = now;  // once is enough
    }
    const Nanos silent = now - std::max(node.heard(), calm);
    if (silent > kLease + kLeaseSlack + kTick) {
      ground_.Violate(node.name(), " is held ", silent.count() / 1'000'000, " ms after the coordinator was last heard");
      since = now;
    }
  }
  if (held > 1) ground_.Violate(held, " nodes are under a fault; the partition allows 1");
}

// When the run ends.
void World::CheckEnd() {
  if (coordinator_->undo_confirmed()) {
    for (const auto& node : nodes_) {
      if (node->state() != Node::State::kOurs) continue;
      ground_.Violate("the run ended with every undo confirmed, and ", node->name(), " is held");
    }
  }
  CheckVerdict();
}

// A pass is worth something: every fault really was there and really went, and no sham was fired.
void World::CheckVerdict() {
  Timeline timeline;
  for (const v1::Fact& fact : coordinator_->facts()) timeline.Add(fact);
  timeline.complete = true;
  const Derived derived = Derive(coordinator_->plan(), timeline);
  ground_.Log("verdict: ", derived.verdict.headline);
  if (derived.verdict.answer != Answer::kPass) return;
  for (const v1::PlannedTrial& trial : coordinator_->plan().trials()) {
    for (const v1::Shot& shot : trial.shots()) {
      const std::string name = plan::ShotName(trial.number(), shot);
      const Truth& truth = ground_.truth[name];
      if (trial.sham() && truth.applied) ground_.Violate("a pass, and ", name, " of a sham trial was fired");
      if (!trial.sham() && !truth.applied) ground_.Violate("a pass, and ", name, " never was there");
      if (!trial.sham() && !truth.cleared) ground_.Violate("a pass, and ", name, " is still there");
    }
  }
}

// Once nothing goes wrong any more and every agent was started again.
void World::CheckAtRest() {
  for (const auto& node : nodes_) {
    bool unreadable = false;
    std::string open;
    const auto entries = ReadJournal(node->disk().directory());
    for (const auto& entry : *entries) {
      if (entry.record.ok()) {
        Append(open, " ", entry.file);
      } else {
        unreadable = true;
      }
    }
    if (!open.empty()) ground_.Violate(node->name(), " still has open records at rest:", open);
    if (node->state() == Node::State::kOurs && !unreadable) {
      ground_.Violate(node->name(), " is held at rest, and no record says so");
    }
    if (!node->running()) ground_.Violate(node->name(), "'s agent does not come up");
  }
}

}  // namespace

Found Simulate(const Wish& wish, const std::string& scratch) { return World(wish, scratch).Run(); }

Wish Minimised(Wish wish, const std::string& scratch) {
  const size_t troubles = DrawTroubles(wish.seed, wish.favoured).size();
  for (size_t i = 0; i < troubles; ++i) {
    if (!wish.without.insert(i).second) continue;
    if (Simulate(wish, scratch).violations.empty()) wish.without.erase(i);
  }
  return wish;
}

}  // namespace triodrill::sim
