// The rank that is slow. Every rank of a synchronous job shows the same step time; the slow one computes long and waits
// least. Two signals that must agree: computing time against the median of ranks, and time waited in collectives.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_format.h"
#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

// Without the fifth at each end: one step that the scheduler held up says nothing.
double TrimmedMean(const std::deque<int64_t>& values) {
  std::vector<int64_t> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t cut = sorted.size() / 5;
  const auto first = sorted.begin() + static_cast<std::ptrdiff_t>(cut);
  const auto last = sorted.end() - static_cast<std::ptrdiff_t>(cut);
  return static_cast<double>(std::accumulate(first, last, int64_t{0})) / static_cast<double>(last - first);
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void Machine::LookForStragglers() {
  if (s_.stage != Stage::kRun || World() < 2) return;
  LookForDrift();
  if (!s_.repair.verdicts.empty()) return;
  const auto window = static_cast<size_t>(spec_.detection().straggler_window());
  std::vector<double> compute;
  std::vector<double> wait;
  for (int rank = 0; rank < World(); ++rank) {
    const Trainer* trainer = Seen(rank);
    if (trainer == nullptr || trainer->compute_ns.size() < window) return;
    compute.push_back(TrimmedMean(trainer->compute_ns));
    wait.push_back(TrimmedMean(trainer->wait_ns));
  }
  constexpr double kLeastExcessNs = 5e6;  // under this, ratios are the scheduler's
  const double median = Median(compute);
  const double median_wait = Median(wait);
  const double ratio = std::max(spec_.detection().straggler_ratio(), 1 + spec_.detection().drift_tolerance());
  for (int rank = 0; rank < World(); ++rank) {
    Trainer& trainer = TrainerOf(rank);
    const bool computes_long = compute[rank] > median * ratio && compute[rank] - median > kLeastExcessNs;
    if (!computes_long || wait[rank] >= median_wait) {
      trainer.slow_for = 0;
      continue;
    }
    if (trainer.slow_for == 0) trainer.slow_for = trainer.steps_seen;
    if (trainer.steps_seen - trainer.slow_for < static_cast<int>(window) / 3) continue;
    return Detected({Fault::kStraggler, s_.placement[rank].node, rank, "compute,wait",
                     absl::StrFormat("computes %.1f ms a step where the median is %.1f ms, and waits %.1f ms where it "
                                     "is %.1f ms",
                                     compute[rank] / 1e6, median / 1e6, wait[rank] / 1e6, median_wait / 1e6)});
  }
}

void Machine::LookForDrift() {
  if (!policy_.Has(Defect::kDriftAlarm)) return;  // PLANTED DEFECT: all of what follows
  const auto window = static_cast<size_t>(spec_.detection().straggler_window());
  for (int rank = 0; rank < World(); ++rank) {
    const Trainer* trainer = Seen(rank);
    if (trainer == nullptr || trainer->steps_seen < static_cast<int>(2 * window)) continue;
    const double mean = trainer->all_compute_ns / trainer->steps_seen;
    const double recent = TrimmedMean(trainer->compute_ns);
    if (recent <= mean * 1.005) continue;
    return Detected({Fault::kStraggler, s_.placement[rank].node, rank, "compute",
                     absl::StrFormat("computes %.2f ms a step, its own mean is %.2f ms", recent / 1e6, mean / 1e6)});
  }
}

}  // namespace triodrill::shadow::pipeline
