// The little statistics that drills need: small samples, censored values. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace triodrill {

// One value: the event came at `time`, or had not come by `time`.
struct Lifetime {
  double time = 0;
  bool censored = false;
};

// A step of the survival curve: S(t) = `survival` from `time` on.
struct SurvivalStep {
  double time = 0;
  int at_risk = 0;
  int events = 0;
  double survival = 1;
};

// Product-limit estimate (Kaplan and Meier, 1958), one step for each distinct time with an event. Where an event and a
// censoring fall together, the event comes first.
std::vector<SurvivalStep> KaplanMeier(std::span<const Lifetime> lifetimes);

// The first time at which S(t) <= 1 - p; nullopt if censoring leaves it open.
std::optional<double> KaplanMeierQuantile(std::span<const Lifetime> lifetimes, double p);

// n of n trials passed: P(pass) is at least this with the given confidence. Exact (Clopper-Pearson): (1-c)^(1/n).
double Assurance(int n, double confidence = 0.95);

// The order statistics between which the p-quantile lies with at least the confidence asked: ranks from 1, the
// narrowest such pair around it. Distribution-free.
struct RankInterval {
  int low = 0;
  int high = 0;
  double confidence = 0;
};
std::optional<RankInterval> QuantileRanks(int n, double p, double confidence = 0.95);

}  // namespace triodrill
