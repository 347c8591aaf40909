// judge, report: what a bundle says, without root, agents or network.
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/cli/inputs.h"
#include "coordinator/cli/verbs.h"
#include "reports/evidence/derive.h"
#include "reports/evidence/files.h"
#include "reports/render/html.h"
#include "reports/render/junit.h"
#include "reports/render/sarif.h"
#include "reports/render/terminal.h"
#include "reports/render/verdict_json.h"

namespace triodrill::cli {
namespace {

std::optional<LoadedBundle> Read(const std::string& directory) {
  Result<LoadedBundle> bundle = LoadBundle(directory);
  if (!bundle.ok()) {
    PrintError(absl::StrCat(directory, ": ", bundle.status().message()));
    return std::nullopt;
  }
  if (!bundle->complete) {
    std::fprintf(stderr, "triodrill: warning: %s is incomplete: %s\n", directory.c_str(), bundle->problem.c_str());
  }
  return *std::move(bundle);
}

// A derived file as kept against what comes out now.
bool Same(const char* name, const std::string& kept, const std::string& now) {
  if (kept == now) return true;
  PrintError(absl::StrCat(
      name, kept.empty() ? " is missing from the bundle" : " of the bundle is not what its timeline gives"));
  return false;
}

}  // namespace

ExitCode Judge(const JudgeOptions& options) {
  const std::optional<LoadedBundle> bundle = Read(options.bundle);
  if (!bundle) return ExitCode::kInvalidFile;
  const Derived derived = Derive(*bundle);
  if (options.json) {
    std::fputs(RunJson(derived.verdict, derived.trio, options.bundle).c_str(), stdout);
  } else {
    std::fputs(TerminalReport(bundle->plan, derived.trio, derived.verdict, options.bundle,
                              {.colour = isatty(STDOUT_FILENO) == 1})
                   .c_str(),
               stdout);
  }
  if (!bundle->complete) return derived.verdict.exit_code;
  const bool same = Same("trio.json", bundle->trio_json, derived.trio_json) &
                    Same("verdict.json", bundle->verdict_json, derived.verdict_json) &
                    Same("report.md", bundle->report_md, derived.report_md);
  if (!same) return ExitCode::kInvalidFile;
  std::fprintf(stderr, "trio.json, verdict.json and report.md re-derived from the timeline: equal to the byte\n");
  return derived.verdict.exit_code;
}

namespace {

std::string ReportText(const std::vector<LoadedBundle>& bundles, const std::vector<Derived>& derived,
                       const ReportOptions& options) {
  std::vector<Reported> runs;
  for (size_t i = 0; i < bundles.size(); ++i) {
    const LoadedBundle& bundle = bundles[i];
    runs.push_back(
        {&bundle.plan, &bundle.timeline, &derived[i].trio, &derived[i].verdict, bundle.directory, bundle.drill_yaml});
  }
  if (options.format == "html") return Html(runs);
  if (options.format == "junit") return JUnit(runs);
  if (options.format == "sarif") return Sarif(runs);
  std::string text;
  const bool colour = options.out.empty() && isatty(STDOUT_FILENO) == 1;
  for (size_t i = 0; i < bundles.size(); ++i) {
    const Reported& run = runs[i];
    if (options.format == "md") {
      text += derived[i].report_md;
    } else if (options.format == "json") {
      text += RunJson(*run.verdict, *run.trio, run.bundle);
    } else {
      text += TerminalReport(*run.plan, *run.trio, *run.verdict, run.bundle, {.colour = colour});
    }
  }
  return text;
}

}  // namespace

ExitCode Report(const ReportOptions& options) {
  if (options.format == "json" && options.bundles.size() > 1) {
    PrintError("report --format json: one object for one bundle; call it once for each");
    return ExitCode::kUsage;
  }
  std::vector<LoadedBundle> bundles;
  std::vector<Derived> derived;
  for (const std::string& directory : options.bundles) {
    std::optional<LoadedBundle> bundle = Read(directory);
    if (!bundle) return ExitCode::kInvalidFile;
    derived.push_back(Derive(*bundle));
    bundles.push_back(*std::move(bundle));
  }
  const std::string text = ReportText(bundles, derived, options);
  if (options.out.empty()) {
    std::fputs(text.c_str(), stdout);
    return ExitCode::kPassed;
  }
  if (const Status written = WriteWholeFile(options.out, text); !written.ok()) {
    PrintError(std::string(written.message()));
    return ExitCode::kInvalidFile;
  }
  return ExitCode::kPassed;
}

}  // namespace triodrill::cli
