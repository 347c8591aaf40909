#include "tests/sim/job.h"

#include <algorithm>

namespace triodrill::sim {

namespace {
constexpr Nanos Ms(int64_t ms) { return std::chrono::milliseconds(ms); }
}  // namespace

Job::Job(Ground& ground, std::vector<std::unique_ptr<Node>>& nodes, Coordinator& coordinator)
    : ground_(ground), nodes_(nodes), coordinator_(coordinator), well_since_(nodes.size()) {
  for (size_t i = 0; i < nodes.size(); ++i) members_.insert(static_cast<int>(i));
}

void Job::Start() {
  ground_.schedule.In(ground_.random.Between(Ms(95), Ms(105)), [this] {
    Tick();
    Start();
  });
}

bool Job::Well(int node) const {
  const Node& one = *nodes_[static_cast<size_t>(node)];
  return one.alive() && one.state() == Node::State::kHealthy;
}

void Job::Tick() {
  ComeBack();
  const bool well = std::all_of(members_.begin(), members_.end(), [this](int node) { return Well(node); });
  if (well) {
    stalled_ = false;
    ++step_;
    for (const int node : members_) coordinator_.Step(nodes_[static_cast<size_t>(node)]->slot(), step_);
    return;
  }
  if (stalled_) return;
  stalled_ = true;
  const uint64_t incident = ++incident_;
  if (!blind) ground_.schedule.In(ground_.random.Between(Ms(150), Ms(1500)), [this, incident] { Notice(incident); });
}

void Job::Notice(uint64_t incident) {
  if (incident != incident_ || !stalled_) return;
  const auto sick = std::find_if(members_.begin(), members_.end(), [this](int node) { return !Well(node); });
  if (sick == members_.end()) return;
  // Now and then it takes the wrong one for it, or names nobody.
  const int named = ground_.random.Chance(0.1) ? (*sick + 1) % static_cast<int>(nodes_.size()) : *sick;
  const std::string slot = nodes_[static_cast<size_t>(named)]->slot();
  coordinator_.Report(v1::DETECTED, ground_.random.Chance(0.1) ? "" : slot);
  ground_.schedule.In(Ms(50), [this, slot] { coordinator_.Report(v1::ISOLATED, slot); });
  ground_.schedule.In(ground_.random.Between(Ms(200), Ms(900)), [this, named] {
    members_.erase(named);
    step_ -= std::min<int64_t>(step_, static_cast<int64_t>(ground_.random.Below(6)));
    stalled_ = false;
  });
}

void Job::ComeBack() {
  const TimePoint now = ground_.schedule.now();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!Well(static_cast<int>(i))) well_since_[i] = now;
    // A rank that was killed is started again by whoever started it first.
    if (!nodes_[i]->alive() && ground_.random.Chance(0.06)) nodes_[i]->StartRank();
    if (now - well_since_[i] > Ms(400)) members_.insert(static_cast<int>(i));
  }
}

void Job::Restart() {
  ground_.Log("the job is started afresh");
  for (const auto& node : nodes_) {
    if (!node->alive()) node->StartRank();
  }
}

}  // namespace triodrill::sim
