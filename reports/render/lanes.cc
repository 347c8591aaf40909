#include "reports/render/lanes.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "reports/measure/topology.h"

namespace triodrill {
namespace {

constexpr int kRateParts = 96;
constexpr Nanos kLeastShown = std::chrono::seconds(3);
constexpr Nanos kLeastGap = std::chrono::milliseconds(200);  // logs are read in turns: no step is closer than that

Stretch Since(TimePoint t0, const Instant& at) { return {at.earliest - t0, at.latest - t0}; }

Nanos MiddleOf(const Stretch& at) { return at.from + (at.to - at.from) / 2; }

void Add(const char* name, const std::optional<Span>& span, std::vector<Milestone>& milestones) {
  if (span) milestones.push_back({name, {span->min, span->max}});
}

std::vector<Milestone> MilestonesOf(const TrialTrio& trial, TimePoint t0) {
  std::vector<Milestone> found{{trial.sham ? "sham" : "fault landed", Since(t0, *trial.landed)}};
  const Milestones& all = trial.milestones;
  Add("detected", all.detected, found);
  Add("diagnosed", all.diagnosed, found);
  Add("isolated", all.isolated, found);
  Add("replaced", all.replaced, found);
  Add("restored", all.restored, found);
  Add("resumed", all.resumed, found);
  Add("caught up", all.caught_up, found);
  Add("steady", all.steady, found);
  for (const PipelineReport& alarm : trial.false_alarms) Add("false alarm", alarm.since_onset, found);
  if (trial.withdrawn) found.push_back({"fault gone", Since(t0, *trial.withdrawn)});
  std::stable_sort(found.begin(), found.end(),
                   [](const Milestone& a, const Milestone& b) { return MiddleOf(a.at) < MiddleOf(b.at); });
  return found;
}

// What happened, a third of that before it, and a quarter after it; what was not seen is shown until it was given up.
Stretch ShownOf(const TrialTrio& trial, const std::vector<Milestone>& milestones, Nanos first, Nanos last) {
  Nanos interest = kLeastShown;
  for (const Milestone& milestone : milestones) interest = std::max(interest, milestone.at.to);
  for (const std::optional<Delay>& delay : {trial.detection, trial.recovery}) {
    if (delay && delay->censored()) interest = std::max(interest, delay->censored_at);
  }
  return {std::max(first, -interest / 3), std::min(last, interest + interest / 4)};
}

class LaneTable {
 public:
  explicit LaneTable(const v1::PartitionSpec& partition) {
    for (const v1::Node& node : partition.nodes()) {
      for (int i = 0; i < node.slots(); ++i) Of(absl::StrCat(node.name(), "/", i));
    }
  }

  Lane& Of(const std::string& slot) {
    const auto [place, fresh] = places_.try_emplace(slot, lanes_.size());
    if (fresh) lanes_.push_back({.slot = slot, .working = {}, .faulted = {}, .ended = {}, .appeared = {}});
    return lanes_[place->second];
  }

  std::vector<Lane> Take() { return std::move(lanes_); }

 private:
  std::map<std::string, size_t> places_;
  std::vector<Lane> lanes_;
};

void AddWork(const TrialFacts& facts, TimePoint t0, Nanos gap, LaneTable& lanes) {
  for (const ProgressRow* row : facts.progress) {
    const Nanos at = MiddleOf(Since(t0, row->at));
    std::vector<Stretch>& working = lanes.Of(facts.table->SlotOf(*row)).working;
    if (!working.empty() && at - working.back().to <= gap) {
      working.back().to = std::max(working.back().to, at);
    } else {
      working.push_back({at, at});
    }
  }
}

void AddProcesses(const TrialFacts& facts, TimePoint t0, const Stretch& shown, LaneTable& lanes) {
  for (const v1::Fact* fact : facts.processes) {
    const Stretch at = Since(t0, InstantOf(*fact));
    if (fact->process().slot().empty() || at.to < shown.from || at.from > shown.to) continue;
    Lane& lane = lanes.Of(fact->process().slot());
    (fact->process().appeared() ? lane.appeared : lane.ended).push_back(at);
  }
}

// A fault that is not withdrawn is held until the picture's end; one of a node, or of its link, is on all its slots.
void AddFaults(const TrialFacts& facts, const Topology& topology, TimePoint t0, const Stretch& shown,
               LaneTable& lanes) {
  if (facts.sham) return;
  for (const ShotFacts& shot : facts.shots) {
    if (shot.landed == nullptr) continue;
    const v1::ShotLanded& landed = shot.landed->landed();
    const bool undone = shot.reverted != nullptr && shot.reverted->reverted().confirmed();
    const Nanos from = Since(t0, InstantOf(*shot.landed)).from;
    const Stretch held{from, undone ? std::max(from, Since(t0, InstantOf(*shot.reverted)).to) : shown.to};
    const SlotSet slots = landed.slot().empty() ? topology.SlotsOf(landed.node()) : SlotSet{landed.slot()};
    for (const std::string& slot : slots) lanes.Of(slot).faulted.push_back(held);
  }
}

Rate RateOf(const TrialFacts& facts, TimePoint t0, const Stretch& shown, Nanos step) {
  Rate rate;
  const Nanos all = shown.to - shown.from;
  rate.width = std::max({all / kRateParts, 4 * step, Nanos{1}});
  const auto parts = static_cast<size_t>((all + rate.width - Nanos{1}) / rate.width);
  std::vector<std::vector<int>> counted(facts.table->slots().size());
  for (const ProgressRow* row : facts.progress) {
    const Nanos at = MiddleOf(Since(t0, row->at));
    if (at < shown.from || at >= shown.to) continue;
    std::vector<int>& of_slot = counted[facts.table->SourceOf(*row).slot_number];
    of_slot.resize(parts);
    ++of_slot[static_cast<size_t>((at - shown.from) / rate.width)];
  }
  rate.steps_per_s.resize(parts);
  for (const std::vector<int>& counts : counted) {
    for (size_t i = 0; i < counts.size(); ++i) {
      // The last part is cut off where the picture ends.
      const Nanos width = std::min(rate.width, all - static_cast<int64_t>(i) * rate.width);
      const double seconds = std::chrono::duration<double>(width).count();
      rate.steps_per_s[i] = std::max(rate.steps_per_s[i], counts[i] / seconds);
    }
  }
  if (parts > 1 && all % rate.width < rate.width / 2) rate.steps_per_s.pop_back();  // too short to tell a rate
  return rate;
}

}  // namespace

std::optional<TrialLanes> LanesOf(const v1::Plan& plan, const TrialFacts& facts, const TrialTrio& trial) {
  if (!trial.landed) return std::nullopt;
  const TimePoint t0 = trial.landed->earliest;
  TrialLanes picture;
  picture.milestones = MilestonesOf(trial, t0);
  picture.baseline_steps_per_s = trial.baseline_steps_per_s;
  const Nanos step = trial.baseline_steps_per_s > 0 ? Nanos(static_cast<int64_t>(1e9 / trial.baseline_steps_per_s))
                                                    : std::chrono::seconds(1);
  const Nanos first = facts.progress.empty() ? Nanos{0} : Since(t0, facts.progress.front()->at).from;
  picture.shown = ShownOf(trial, picture.milestones, std::min(first, Nanos{0}), Since(t0, facts.last).to);
  LaneTable lanes(plan.partition().spec());
  AddWork(facts, t0, std::max(3 * step, kLeastGap), lanes);
  AddProcesses(facts, t0, picture.shown, lanes);
  AddFaults(facts, Topology(plan.partition().spec()), t0, picture.shown, lanes);
  picture.lanes = lanes.Take();
  picture.rate = RateOf(facts, t0, picture.shown, step);
  return picture;
}

}  // namespace triodrill
