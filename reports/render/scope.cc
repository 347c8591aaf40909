#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "reports/render/number.h"
#include "reports/render/origin.h"
#include "reports/render/sections.h"

namespace triodrill {
namespace {

void AddIf(const char* label, const std::string& text, std::vector<Row>& rows) {
  if (!text.empty()) rows.push_back({label, text});
}

std::set<std::string> KindsUsed(const v1::Plan& plan) {
  std::set<std::string> kinds;
  for (const v1::PlannedTrial& trial : plan.trials()) {
    for (const v1::Shot& shot : trial.shots()) kinds.insert(shot.kind());
  }
  for (const v1::Fault& fault : plan.drill().spec().faults()) kinds.insert(fault.inject());
  return kinds;
}

// Results of the two levels are never pooled, so whoever reads has to see which it is.
std::string LevelsText(const Trio& trio) {
  std::set<std::string> levels;
  for (const TrialTrio& trial : trio.trials) {
    for (const FaultedTarget& target : trial.targets) levels.insert(Name(target.level));
  }
  return absl::StrJoin(levels, ", ");
}

// "12.345~98.765 s of the run".
std::string WindowText(const Instant& from, const Instant& to) {
  return absl::StrFormat("%.3f~%.3f s of the run", static_cast<double>(ToNanos(from.earliest)) / 1e9,
                         static_cast<double>(ToNanos(to.latest)) / 1e9);
}

std::string TrialWindow(const TrialTrio& trial) {
  if (!trial.landed) return "";
  return WindowText(*trial.landed,
                    {trial.landed->earliest + trial.observed.max, trial.landed->earliest + trial.observed.max});
}

std::string ClockText(const RunFacts& run) {
  Nanos widest{0};
  for (const ClockError& clock : run.clocks) widest = std::max(widest, clock.width);
  if (run.clocks.empty()) return "";
  return absl::StrCat("offsets of ", CountText(static_cast<int64_t>(run.clocks.size()), "node", "nodes"), " known to ",
                      WidthText(widest), " or better; it is part of every interval");
}

void AddEnvironment(const v1::PartitionSpec& partition, std::vector<Row>& rows) {
  const v1::Environment& environment = partition.environment();
  AddIf("scale", environment.scale(), rows);
  AddIf("accelerator", environment.accelerator(), rows);
  AddIf("interconnect", environment.interconnect(), rows);
  AddIf("monitoring", environment.monitoring(), rows);
  AddIf("collectives", environment.collectives(), rows);
  AddIf("checkpoint", environment.checkpoint(), rows);
}

}  // namespace

std::vector<Row> ScopeRows(const v1::Plan& plan, const Trio& trio) {
  std::vector<Row> rows;
  for (const std::string& part : trio.simulated) rows.push_back({"simulated", absl::StrCat("simulated ", part)});
  AddIf("level of the fault", LevelsText(trio), rows);
  for (const v1::Substitution& used : plan.substitutions()) {
    rows.push_back({"substitution",
                    absl::StrCat(used.used(), " was used instead of ", used.wanted(), " because ", used.reason())});
  }
  AddEnvironment(plan.partition().spec(), rows);
  for (const std::string& difference : plan.partition().spec().differences()) {
    rows.push_back({"differs from production", difference});
  }
  const std::set<std::string> kinds = KindsUsed(plan);
  for (const v1::Floor& floor : plan.pipeline().spec().floors()) {
    if (!kinds.contains(floor.fault())) continue;
    rows.push_back(
        {"known beforehand", absl::StrCat(floor.fault(), ": ", floor.expected(), " (", floor.source(), ")")});
  }
  AddIf("clock error", ClockText(trio.run), rows);
  for (const std::string& remark : plan.remarks()) rows.push_back({"remark", remark});
  for (const std::string& remark : trio.run.remarks) rows.push_back({"remark", remark});
  return rows;
}

std::vector<Row> RunRows(const v1::Plan& plan, const Trio& trio) {
  std::vector<Row> rows;
  const v1::Metadata& drill = plan.drill().metadata();
  AddIf("question", drill.question(), rows);
  if (drill.category() != v1::CATEGORY_UNSPECIFIED) {
    rows.push_back({"category", absl::AsciiStrToLower(v1::Category_Name(drill.category()))});
  }
  if (drill.severity() != v1::SEVERITY_UNSPECIFIED) rows.push_back({"severity", v1::Severity_Name(drill.severity())});
  AddIf("partition", plan.partition().metadata().name(), rows);
  AddIf("pipeline", plan.pipeline().metadata().name(), rows);
  AddIf("run", trio.run.run_id, rows);
  AddIf("started", trio.run.wall_text, rows);
  AddIf("run by", trio.run.operator_name, rows);
  AddIf("host", trio.run.host, rows);
  for (Row& row : OriginRows(trio.run.origin)) rows.push_back(std::move(row));
  AddIf("kernel", trio.run.kernel, rows);
  AddIf("tool", trio.run.tool_version.empty() ? "" : absl::StrCat("triodrill ", trio.run.tool_version), rows);
  AddIf("plan digest", trio.run.plan_digest, rows);
  rows.push_back({"outcome of the run", trio.run.outcome});
  return rows;
}

std::vector<Evidence> EvidenceRows(const v1::Plan& plan, const Trio& trio) {
  std::vector<Evidence> rows;
  const std::string ours = absl::StrCat("triodrill ", trio.run.tool_version);
  const std::string pipeline = absl::StrCat("pipeline ", plan.pipeline().metadata().name());
  for (const TrialTrio& trial : trio.trials) {
    const std::string window = TrialWindow(trial);
    const std::string trial_name = absl::StrCat("trial ", trial.trial, ": ");
    for (const FaultedTarget& target : trial.targets) {
      rows.push_back(
          {absl::StrCat(trial_name, target.kind, " landed on ", target.slot.empty() ? target.node : target.slot), ours,
           absl::StrCat("inspected on ", target.node, ": ", target.evidence), window});
    }
    if (trial.detected_by) {
      rows.push_back({absl::StrCat(trial_name, "detected"), pipeline, trial.detected_by->source, window});
    } else if (trial.detection) {
      rows.push_back(
          {absl::StrCat(trial_name, "not detected"), pipeline, "no report in any source of the profile", window});
    }
    if (trial.recovery) {
      rows.push_back({absl::StrCat(trial_name, "recovery, isolation, interruption"), ours,
                      "facts progress and process of timeline.jsonl", window});
    }
    for (const PipelineReport& alarm : trial.false_alarms) {
      rows.push_back({absl::StrCat(trial_name, "false alarm"), pipeline, alarm.source, window});
    }
  }
  return rows;
}

}  // namespace triodrill
