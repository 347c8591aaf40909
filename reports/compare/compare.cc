#include "reports/compare/compare.h"

#include <algorithm>

#include "reports/render/number.h"
#include "reports/stats/multiple.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

Change Decide(const MetricChange& metric, double alpha) {
  if (metric.adjusted_worse <= alpha) return Change::kRegressed;
  if (metric.adjusted_better <= alpha) return Change::kImproved;
  if (metric.p_no_worse <= alpha) return Change::kNoWorse;
  return Change::kTooFew;
}

ExitCode CodeOf(Change change) {
  switch (change) {
    case Change::kImproved:
    case Change::kNoWorse:
      return ExitCode::kPassed;
    case Change::kTooFew:
      return ExitCode::kInconclusive;
    case Change::kRegressed:
      return ExitCode::kFailed;
  }
  return ExitCode::kInternal;
}

std::string NamesOf(const std::vector<MetricChange>& metrics, Change change) {
  std::string names;
  for (const MetricChange& metric : metrics) {
    if (metric.change == change) Append(names, names.empty() ? "" : ", ", metric.name);
  }
  return names;
}

std::string Headline(const RunComparison& comparison) {
  const std::string limit = PercentText(comparison.options.max_regression);
  const auto say = [&](const char* word, const std::string& what) {
    return Cat(word, " ", comparison.drill, ": ", what);
  };
  if (comparison.refused) {
    return say("REFUSED", Cat("the runs differ in ",
                              CountText(static_cast<int64_t>(comparison.differences.size()), "thing", "things"),
                              " that the figures depend on; --across compares them all the same"));
  }
  if (comparison.metrics.empty()) return say("NOT ENOUGH TRIALS", "neither run has a valid trial");
  switch (comparison.change) {
    case Change::kRegressed:
      return say("REGRESSED", Cat(NamesOf(comparison.metrics, Change::kRegressed), " worse by more than ", limit));
    case Change::kTooFew:
      return say("NOT ENOUGH TRIALS",
                 Cat("to tell whether worse by more than ", limit, ": ", NamesOf(comparison.metrics, Change::kTooFew)));
    case Change::kNoWorse:
      return say("NO WORSE", Cat("nothing is worse by more than ", limit));
    case Change::kImproved:
      return say("IMPROVED", Cat(NamesOf(comparison.metrics, Change::kImproved),
                                 " better, and nothing worse by more than ", limit));
  }
  return "";
}

// Regressed outranks not enough trials, and that everything else; one that improved is enough for the word if all
// others are no worse.
Change Overall(const std::vector<MetricChange>& metrics) {
  const auto any = [&](Change change) {
    return std::any_of(metrics.begin(), metrics.end(),
                       [&](const MetricChange& metric) { return metric.change == change; });
  };
  if (any(Change::kRegressed)) return Change::kRegressed;
  if (metrics.empty() || any(Change::kTooFew)) return Change::kTooFew;
  return any(Change::kImproved) ? Change::kImproved : Change::kNoWorse;
}

}  // namespace

std::vector<MetricChange> CompareMetrics(const std::vector<MetricSamples>& samples, const CompareOptions& options) {
  std::vector<MetricChange> metrics;
  std::vector<double> worse;
  std::vector<double> better;
  for (const MetricSamples& one : samples) {
    metrics.push_back(TestMetric(one, options));
    worse.push_back(metrics.back().p_worse);
    better.push_back(metrics.back().p_better);
  }
  worse = Holm(worse);
  better = Holm(better);
  for (size_t i = 0; i < metrics.size(); ++i) {
    metrics[i].adjusted_worse = worse[i];
    metrics[i].adjusted_better = better[i];
    metrics[i].change = Decide(metrics[i], options.alpha);
    if (metrics[i].change == Change::kTooFew) SayHowMany(samples[i], options, metrics[i]);
  }
  return metrics;
}

RunComparison Compare(const ComparedRun& base, const ComparedRun& next, const CompareOptions& options, bool across) {
  RunComparison comparison;
  comparison.drill = next.trio->drill;
  comparison.options = options;
  comparison.base_bundle = base.bundle;
  comparison.next_bundle = next.bundle;
  comparison.base_headline = base.verdict->headline;
  comparison.next_headline = next.verdict->headline;
  comparison.differences = DifferencesOf(*base.plan, *next.plan);
  comparison.remarks = RemarksOn(*base.trio, *next.trio);
  comparison.refused = !comparison.differences.empty() && !across;
  if (!comparison.refused) comparison.metrics = CompareMetrics(SamplesOf(base, next), options);
  comparison.change = Overall(comparison.metrics);
  comparison.exit_code = comparison.refused ? ExitCode::kRefused : CodeOf(comparison.change);
  comparison.headline = Headline(comparison);
  return comparison;
}

}  // namespace triodrill
