#include "coordinator/conduct/progress.h"

#include <algorithm>

namespace triodrill::conduct {
namespace {

constexpr size_t kKept = 4096;
constexpr size_t kWindowSteps = 10;
constexpr Nanos kWindowTime = std::chrono::seconds(5);

double Rate(int64_t steps, Nanos time) {
  return time.count() <= 0 ? 0 : static_cast<double>(steps) / std::chrono::duration<double>(time).count();
}

}  // namespace

void ProgressTrack::Add(const std::string& slot, int64_t step, TimePoint at) {
  const auto known = slots_.find(slot);
  const bool restarted = known != slots_.end() && step <= known->second.step;
  slots_[slot] = {at, step};
  if (restarted && (points_.empty() || step <= points_.back().step)) points_.clear();
  high_water_ = std::max(high_water_, step);
  if (!points_.empty() && step <= points_.back().step) return;  // another slot was first
  points_.push_back({at, step});
  if (points_.size() > kKept) points_.pop_front();
}

void ProgressTrack::Clear() {
  points_.clear();
  slots_.clear();
  high_water_ = -1;
}

std::optional<TimePoint> ProgressTrack::last() const {
  if (points_.empty()) return std::nullopt;
  return points_.back().at;
}

std::optional<Baseline> ProgressTrack::Steady(const Steadiness& wanted, size_t serving) const {
  if (points_.size() < 3) return std::nullopt;
  // The newest stretch that is long enough both ways.
  const Point& end = points_.back();
  size_t begin = points_.size() - 1;
  while (begin > 0 && (end.step - points_[begin].step < wanted.steps || end.at - points_[begin].at < wanted.at_least)) {
    --begin;
  }
  const Point& start = points_[begin];
  if (end.step - start.step < wanted.steps || end.at - start.at < wanted.at_least) return std::nullopt;

  const Point& middle = points_[begin + (points_.size() - 1 - begin) / 2];
  const double first = Rate(middle.step - start.step, middle.at - start.at);
  const double second = Rate(end.step - middle.step, end.at - middle.at);
  if (first <= 0 || second <= 0) return std::nullopt;
  if (std::max(first, second) / std::min(first, second) > 1 + wanted.tolerance) return std::nullopt;

  Baseline baseline;
  for (const auto& [slot, point] : slots_) {
    if (point.at >= start.at) baseline.serving.push_back(slot);
  }
  if (baseline.serving.size() < serving) return std::nullopt;
  baseline.steps_per_s = Rate(end.step - start.step, end.at - start.at);
  baseline.high_water = high_water_;
  baseline.steps = static_cast<int>(end.step - start.step);
  baseline.window = end.at - start.at;
  return baseline;
}

bool ProgressTrack::Recovered(TimePoint since, int64_t above, double rate) const {
  if (points_.size() <= kWindowSteps) return false;
  const Point& end = points_.back();
  size_t begin = points_.size() - 1 - kWindowSteps;
  while (begin > 0 && end.at - points_[begin].at < kWindowTime) --begin;
  const Point& start = points_[begin];
  if (end.at - start.at < kWindowTime || start.at <= since || start.step <= above) return false;
  return Rate(end.step - start.step, end.at - start.at) >= rate;
}

}  // namespace triodrill::conduct
