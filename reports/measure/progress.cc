#include "reports/measure/progress.h"

#include <algorithm>
#include <chrono>

namespace triodrill {
namespace {

constexpr int64_t kWindowSteps = 10;
constexpr Nanos kWindowTime = std::chrono::seconds(5);
constexpr Nanos kShortestStall = std::chrono::seconds(2);
constexpr double kStallPeriods = 10;
// A rate that is exactly theta of the baseline must not be lost to rounding.
constexpr double kTolerance = 1e-9;

double Seconds(Nanos nanos) { return static_cast<double>(nanos.count()) / 1e9; }

// The step that ends the window which begins at `first`: nullopt if the epoch or the facts end before it is whole.
std::optional<size_t> WindowEnd(const std::vector<StepSeen>& steps, size_t first) {
  for (size_t i = first + 1; i < steps.size() && steps[i].epoch == steps[first].epoch; ++i) {
    if (steps[i].step - steps[first].step < kWindowSteps) continue;
    if (Middle(steps[i].at) - Middle(steps[first].at) >= kWindowTime) return i;
  }
  return std::nullopt;
}

bool KeepsRate(const StepSeen& first, const StepSeen& last, const Steadiness& steadiness) {
  const double rate = static_cast<double>(last.step - first.step) / Seconds(Middle(last.at) - Middle(first.at));
  return rate >= steadiness.theta * steadiness.steps_per_s * (1 - kTolerance);
}

bool Undisturbed(const Window& window, const Steadiness& steadiness) {
  return std::none_of(steadiness.disturbances.begin(), steadiness.disturbances.end(), [&](const Instant& at) {
    return at.earliest > window.start.latest && at.earliest <= window.end.latest;
  });
}

bool OnOneSide(const Window& window, const Steadiness& steadiness) {
  return std::all_of(steadiness.barriers.begin(), steadiness.barriers.end(), [&](const Instant& at) {
    return at.latest <= window.start.earliest || at.earliest >= window.end.latest;
  });
}

// The longest that a steady window takes from its first step.
Nanos LongestWindow(const Steadiness& steadiness) {
  const double slowest = steadiness.theta * steadiness.steps_per_s;
  if (slowest <= 0) return Nanos::max();
  return std::max(kWindowTime, Nanos(static_cast<int64_t>(static_cast<double>(kWindowSteps + 1) / slowest * 1e9)));
}

}  // namespace

JobProgress FollowProgress(const TrialFacts& facts) {
  JobProgress job;
  if (facts.table == nullptr) return job;
  const std::vector<std::string>& slots = facts.table->slots();
  std::vector<std::vector<SlotStep>> of_slot(slots.size());
  std::vector<int> epochs(slots.size());
  int epoch = 0;
  int64_t highest = -1;  // in this epoch
  job.all.reserve(facts.progress.size());
  for (const ProgressRow* row : facts.progress) {
    SlotStep seen{.step = row->step, .at = row->at};
    const uint32_t slot = facts.table->SourceOf(*row).slot_number;
    std::vector<SlotStep>& own = of_slot[slot];
    int& own_epoch = epochs[slot];
    seen.again = !own.empty() && seen.step <= own.back().step;
    if (seen.again) ++own_epoch;
    own.push_back(seen);
    job.all.push_back(seen);
    if (own_epoch > epoch) {
      epoch = own_epoch;
      highest = -1;
    }
    if (seen.step <= highest) continue;
    highest = seen.step;
    job.steps.push_back({.step = seen.step, .at = seen.at, .epoch = epoch});
  }
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    if (!of_slot[slot].empty()) job.slots.emplace(slots[slot], std::move(of_slot[slot]));
  }
  return job;
}

Nanos Steadiness::StallLimit() const {
  if (steps_per_s <= 0) return kShortestStall;
  return std::max(kShortestStall, Nanos(static_cast<int64_t>(kStallPeriods / steps_per_s * 1e9)));
}

SteadySearch FindSteady(const JobProgress& job, const Steadiness& steadiness) {
  SteadySearch search;
  if (steadiness.steps_per_s <= 0) return search;
  const std::vector<StepSeen>& steps = job.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].step <= steadiness.high_water) continue;
    if (steadiness.from && steps[i].at.latest < *steadiness.from) continue;
    const std::optional<size_t> last = WindowEnd(steps, i);
    if (last) {
      const Window window{.start = steps[i].at, .end = steps[*last].at};
      if (KeepsRate(steps[i], steps[*last], steadiness) && Undisturbed(window, steadiness) &&
          OnOneSide(window, steadiness)) {
        search.found = window;
        search.open_from.reset();
        return search;
      }
    } else if (!search.open_from && steps[i].epoch == steps.back().epoch &&
               steadiness.end - steps[i].at.latest < LongestWindow(steadiness)) {
      search.open_from = steps[i].at;
    }
  }
  return search;
}

bool NeverSlowed(const JobProgress& job, const Steadiness& steadiness, std::optional<Instant> until) {
  if (steadiness.steps_per_s <= 0) return false;
  const std::vector<StepSeen>& steps = job.steps;
  bool first = true;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].step <= steadiness.high_water) continue;
    if (!first && (!until || steps[i].at.earliest >= until->latest)) return true;
    const std::optional<size_t> last = WindowEnd(steps, i);
    if (!last) return !first && steps[i].epoch == steps.back().epoch;
    const Window window{.start = steps[i].at, .end = steps[*last].at};
    if (!KeepsRate(steps[i], steps[*last], steadiness) || !Undisturbed(window, steadiness)) return false;
    first = false;
  }
  return !first;
}

}  // namespace triodrill
