// judge, report: what a bundle says, without root, agents or network.
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "coordinator/cli/inputs.h"
#include "coordinator/cli/verbs.h"
#include "reports/evidence/derive.h"
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

ExitCode Report(const ReportOptions& options) {
  const std::optional<LoadedBundle> bundle = Read(options.bundle);
  if (!bundle) return ExitCode::kInvalidFile;
  const Derived derived = Derive(*bundle);
  if (options.format == "md") {
    std::fputs(derived.report_md.c_str(), stdout);
  } else if (options.format == "json") {
    std::fputs(RunJson(derived.verdict, derived.trio, options.bundle).c_str(), stdout);
  } else {
    std::fputs(TerminalReport(bundle->plan, derived.trio, derived.verdict, options.bundle,
                              {.colour = isatty(STDOUT_FILENO) == 1})
                   .c_str(),
               stdout);
  }
  return ExitCode::kPassed;
}

}  // namespace triodrill::cli
