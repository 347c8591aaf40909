// Two runs of one drill, as a gate sees them. Pure: the same runs give the same answer.
#pragma once

#include <string>
#include <vector>

#include "reports/compare/metric.h"
#include "reports/judge/verdict.h"
#include "reports/measure/trio.h"
#include "triodrill/exit_code.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

struct ComparedRun {
  const v1::Plan* plan = nullptr;
  const Trio* trio = nullptr;
  const Verdict* verdict = nullptr;
  std::string bundle;
};

// What is not the same in the two runs, so that a change of the figures may come from it.
struct RunDifference {
  std::string what;  // "partition.environment.nccl"
  std::string base;
  std::string next;
};

// Of drill, profile and environment: such runs are not compared unless that is asked for.
std::vector<RunDifference> DifferencesOf(const v1::Plan& base, const v1::Plan& next);
// Worth knowing, and no reason not to compare: version of the tool, host, kernel.
std::vector<RunDifference> RemarksOn(const Trio& base, const Trio& next);

// What is compared, trial by trial; metrics that neither run has are left out.
std::vector<MetricSamples> SamplesOf(const ComparedRun& base, const ComparedRun& next);

struct RunComparison {
  std::string drill;
  CompareOptions options;
  std::string base_bundle, next_bundle;
  std::string base_headline, next_headline;
  std::vector<RunDifference> differences;
  std::vector<RunDifference> remarks;
  bool refused = false;  // there are differences, and --across was not given: nothing was compared
  std::vector<MetricChange> metrics;
  Change change = Change::kTooFew;  // the worst of them
  std::string headline;
  ExitCode exit_code = ExitCode::kInconclusive;
};

// The metrics alone, with Holm's correction over all of them.
std::vector<MetricChange> CompareMetrics(const std::vector<MetricSamples>& samples, const CompareOptions& options);

RunComparison Compare(const ComparedRun& base, const ComparedRun& next, const CompareOptions& options, bool across);

std::string ComparisonText(const RunComparison& comparison, bool colour);
std::string ComparisonMarkdown(const RunComparison& comparison);
std::string ComparisonJson(const RunComparison& comparison);

}  // namespace triodrill
