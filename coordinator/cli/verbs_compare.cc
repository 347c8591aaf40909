// compare: two bundles of one drill against each other. No root, no agent, no network.
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "coordinator/cli/inputs.h"
#include "coordinator/cli/verbs.h"
#include "reports/compare/compare.h"
#include "reports/evidence/derive.h"
#include "triodrill/schema/units.h"

namespace triodrill::cli {
namespace {

struct Side {
  LoadedBundle bundle;
  Derived derived;

  ComparedRun run() const { return {&bundle.plan, &derived.trio, &derived.verdict, bundle.directory}; }
};

std::optional<Side> Read(const std::string& directory) {
  Result<LoadedBundle> bundle = LoadBundle(directory);
  if (!bundle.ok()) {
    PrintError(absl::StrCat(directory, ": ", bundle.status().message()));
    return std::nullopt;
  }
  if (!bundle->complete) {
    PrintError(absl::StrCat("compare ", directory, ": the bundle is incomplete (", bundle->problem,
                            "): what is missing could be what got worse; run the drill again"));
    return std::nullopt;
  }
  Derived derived = Derive(*bundle);
  return Side{*std::move(bundle), std::move(derived)};
}

std::optional<CompareOptions> ReadLimits(const std::string& max_regression, const std::string& alpha) {
  const Result<double> regression = ParseRatio(max_regression);
  const Result<double> level = ParseRatio(alpha);
  if (!regression.ok() || *regression < 0 || *regression > 10) {
    PrintError(absl::StrCat("--max-regression ", max_regression, ": a share from 0 to 1000%, as in 10% or 0.1"));
    return std::nullopt;
  }
  if (!level.ok() || *level < 0.0001 || *level > 0.4) {
    PrintError(absl::StrCat("--alpha ", alpha, ": a share from 0.0001 to 0.4, as in 0.05"));
    return std::nullopt;
  }
  CompareOptions options;
  options.max_regression = *regression;
  options.alpha = *level;
  return options;
}

}  // namespace

ExitCode CompareBundles(const CompareBundlesOptions& options) {
  const std::optional<CompareOptions> limits = ReadLimits(options.max_regression, options.alpha);
  if (!limits || (options.json && options.md)) {
    if (limits) PrintError("--json and --md: choose one");
    return ExitCode::kUsage;
  }
  const std::optional<Side> base = Read(options.base);
  if (!base) return ExitCode::kInvalidFile;
  const std::optional<Side> next = Read(options.next);
  if (!next) return ExitCode::kInvalidFile;
  const RunComparison comparison = Compare(base->run(), next->run(), *limits, options.across);
  const std::string text = options.json ? ComparisonJson(comparison)
                           : options.md ? ComparisonMarkdown(comparison)
                                        : ComparisonText(comparison, isatty(STDOUT_FILENO) == 1);
  std::fputs(text.c_str(), stdout);
  return comparison.exit_code;
}

}  // namespace triodrill::cli
