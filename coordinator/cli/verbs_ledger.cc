// ledger, report --quarter: the history of runs, suspects and incidents. No root, no agent, no network.
#include <cstdio>
#include <optional>

#include "coordinator/cli/inputs.h"
#include "coordinator/cli/origin.h"
#include "coordinator/cli/verbs.h"
#include "coordinator/os/clock.h"
#include "reports/evidence/derive.h"
#include "reports/evidence/files.h"
#include "reports/ledger/history.h"
#include "reports/ledger/ledger.h"
#include "reports/ledger/trend_text.h"
#include "reports/render/escape.h"
#include "triodrill/text.h"

namespace triodrill::cli {
namespace {

using ledger::Ledger;

constexpr size_t kLongestRelease = 100;
constexpr size_t kLongestWords = 1000;

std::string NowText() { return coordinator::WallText(coordinator::WallNanos()); }

// Says what is wrong; the exit code says whose fault it is.
ExitCode Refuse(const Status& status) {
  PrintError(std::string(status.message()));
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kUsage;
    case absl::StatusCode::kFailedPrecondition:
      return ExitCode::kRefused;
    case absl::StatusCode::kUnavailable:
      return ExitCode::kUnreachable;
    case absl::StatusCode::kInternal:
      return ExitCode::kInternal;
    default:
      return ExitCode::kInvalidFile;
  }
}

Result<ledger::LedgerRows> ReadAll(const std::string& file) {
  TRIODRILL_ASSIGN_OR_RETURN(Ledger opened, Ledger::OpenToRead(file));
  return opened.Read();
}

ExitCode Print(const std::string& text, const std::string& out) {
  if (out.empty()) {
    std::fputs(text.c_str(), stdout);
    return ExitCode::kPassed;
  }
  if (const Status written = WriteWholeFile(out, text); !written.ok()) return Refuse(written);
  return ExitCode::kPassed;
}

// As the ledger keeps them; every one is read before the file is touched.
Result<std::vector<ledger::ToldRun>> ReadBundles(const LedgerOptions& options) {
  std::vector<ledger::ToldRun> runs;
  for (const std::string& name : options.bundles) {
    Result<LoadedBundle> bundle = LoadBundle(name);
    if (!bundle.ok()) return absl::DataLossError(Cat(name, ": ", std::string(bundle.status().message())));
    TRIODRILL_ASSIGN_OR_RETURN(ledger::ToldRun run, ledger::RunOf(*bundle, Derive(*bundle), options.release));
    runs.push_back(std::move(run));
  }
  return runs;
}

Status CheckWords(const LedgerOptions& options) {
  TRIODRILL_RETURN_IF_ERROR(ledger::CheckText("--release", options.release, kLongestRelease));
  TRIODRILL_RETURN_IF_ERROR(ledger::CheckText("--drill", options.drill, kLongestRelease));
  TRIODRILL_RETURN_IF_ERROR(ledger::CheckText("--pipeline", options.pipeline, kLongestRelease));
  TRIODRILL_RETURN_IF_ERROR(ledger::CheckText("--reason", options.reason, kLongestWords));
  return ledger::CheckText("--summary", options.summary, kLongestWords);
}

Result<ledger::IncidentRow> IncidentOf(const LedgerOptions& options) {
  TRIODRILL_RETURN_IF_ERROR(CheckWords(options));
  if (options.summary.empty()) return absl::InvalidArgumentError("--summary: say what happened");
  ledger::IncidentRow incident{.severity = options.severity, .summary = options.summary, .drill = options.drill};
  incident.pipeline = options.pipeline;
  incident.release = options.release;
  TRIODRILL_ASSIGN_OR_RETURN(incident.started, ledger::UtcText(options.started));
  const auto later = [&](const char* name, const std::string& text, std::string& kept) -> Status {
    if (text.empty()) return Ok();
    TRIODRILL_ASSIGN_OR_RETURN(kept, ledger::UtcText(text));
    if (kept >= incident.started) return Ok();
    return absl::InvalidArgumentError(Cat(name, " ", kept, ": before it started, ", incident.started));
  };
  TRIODRILL_RETURN_IF_ERROR(later("--detected", options.detected, incident.detected));
  TRIODRILL_RETURN_IF_ERROR(later("--ended", options.ended, incident.ended));
  incident.operator_name = LoginName();
  incident.added = NowText();
  return incident;
}

Result<ledger::HistoryFilter> FilterOf(const LedgerOptions& options) {
  ledger::HistoryFilter filter{.quarter = std::nullopt, .drill = options.drill, .pipeline = options.pipeline};
  if (!options.quarter.empty()) {
    TRIODRILL_ASSIGN_OR_RETURN(filter.quarter, ledger::ParseQuarter(options.quarter));
  }
  return filter;
}

}  // namespace

ExitCode LedgerAdd(const LedgerOptions& options) {
  if (const Status words = CheckWords(options); !words.ok()) return Refuse(words);
  const Result<std::vector<ledger::ToldRun>> runs = ReadBundles(options);
  if (!runs.ok()) return Refuse(runs.status());
  Result<Ledger> file = Ledger::OpenToWrite(options.ledger);
  if (!file.ok()) return Refuse(file.status());
  const Result<std::vector<ledger::Added>> added = file->Add(*runs, NowText());
  if (!added.ok()) return Refuse(added.status());
  for (size_t i = 0; i < runs->size(); ++i) {
    const ledger::RunRow& run = (*runs)[i].run;
    const bool fresh = (*added)[i].what == ledger::Addition::kAdded;
    const std::string& release = (*added)[i].release;
    std::string line = Cat(fresh ? "added" : "already there, nothing was changed", ": ", run.drill, ", run ",
                           run.run_id, release.empty() ? "" : ", release ", release);
    std::printf("%s\n", PlainText(line, kLongestWords).c_str());
  }
  return ExitCode::kPassed;
}

ExitCode LedgerList(const LedgerOptions& options) {
  const Result<ledger::HistoryFilter> filter = FilterOf(options);
  if (!filter.ok()) return Refuse(filter.status());
  Result<ledger::LedgerRows> rows = ReadAll(options.ledger);
  if (!rows.ok()) return Refuse(rows.status());
  const ledger::LedgerRows shown = ledger::Filtered(*std::move(rows), *filter);
  return Print(options.json ? ledger::HistoryJson(shown) : ledger::HistoryText(shown), "");
}

ExitCode LedgerSdc(const LedgerOptions& options) {
  const Result<ledger::LedgerRows> rows = ReadAll(options.ledger);
  if (!rows.ok()) return Refuse(rows.status());
  return Print(options.json ? ledger::SdcJson(*rows) : ledger::SdcText(*rows), "");
}

ExitCode LedgerDispose(const LedgerOptions& options) {
  Status status = CheckWords(options);
  if (status.ok() && options.reason.empty()) status = absl::InvalidArgumentError("--reason: say why");
  if (!status.ok()) return Refuse(status);
  const Status there = ReadAll(options.ledger).status();  // a word about an entry makes no ledger
  if (!there.ok()) return Refuse(there);
  Result<Ledger> file = Ledger::OpenToWrite(options.ledger);
  if (!file.ok()) return Refuse(file.status());
  const ledger::DispositionRow said{.entry = options.entry,
                                    .disposition = options.disposition,
                                    .reason = options.reason,
                                    .operator_name = LoginName(),
                                    .at = NowText()};
  status = file->Dispose(said);
  if (!status.ok()) return Refuse(status);
  std::printf("entry %lld: %s, by %s at %s\n", static_cast<long long>(said.entry), said.disposition.c_str(),
              PlainText(said.operator_name).c_str(), said.at.c_str());
  return ExitCode::kPassed;
}

ExitCode LedgerIncident(const LedgerOptions& options) {
  const Result<ledger::IncidentRow> incident = IncidentOf(options);
  if (!incident.ok()) return Refuse(incident.status());
  Result<Ledger> file = Ledger::OpenToWrite(options.ledger);
  if (!file.ok()) return Refuse(file.status());
  const Result<int64_t> id = file->Add(*incident);
  if (!id.ok()) return Refuse(id.status());
  std::printf("incident %lld: %s, %s\n", static_cast<long long>(*id), incident->severity.c_str(),
              incident->started.c_str());
  return ExitCode::kPassed;
}

ExitCode LedgerExport(const LedgerOptions& options) {
  const Result<ledger::LedgerRows> rows = ReadAll(options.ledger);
  if (!rows.ok()) return Refuse(rows.status());
  return Print(options.format == "json" ? ledger::ExportJson(*rows) : ledger::ExportCsv(*rows), options.out);
}

ExitCode ReportQuarter(const ReportOptions& options) {
  const Result<ledger::Quarter> quarter = ledger::ParseQuarter(options.quarter);
  if (!quarter.ok()) return Refuse(quarter.status());
  const Result<ledger::LedgerRows> rows = ReadAll(options.ledger);
  if (!rows.ok()) return Refuse(rows.status());
  const ledger::Trend trend =
      ledger::TrendOf(*rows, {.quarter = *quarter, .compare = CompareOptions(), .across = options.across});
  if (options.format == "json") return Print(ledger::TrendJson(trend), options.out);
  if (options.format == "md") return Print(ledger::TrendMarkdown(trend), options.out);
  if (options.format == "html") return Print(ledger::TrendHtml(trend), options.out);
  if (options.format == "text") {
    return Print(ledger::TrendText(trend, options.out.empty() && isatty(STDOUT_FILENO) == 1), options.out);
  }
  PrintError(Cat("report --quarter --format ", options.format, ": text, md, html or json"));
  return ExitCode::kUsage;
}

}  // namespace triodrill::cli
