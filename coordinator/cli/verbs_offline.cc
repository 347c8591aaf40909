// validate, plan, faults, explain: no root, no agent, no network.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coordinator/cli/inputs.h"
#include "coordinator/cli/verbs.h"
#include "coordinator/cli/version.h"
#include "coordinator/gate/approvals.h"
#include "coordinator/gate/gate.h"
#include "coordinator/load/read.h"
#include "coordinator/plan/plan.h"
#include "coordinator/plan/proofs.h"
#include "reports/compare/power_text.h"
#include "reports/evidence/bundle.h"
#include "reports/evidence/files.h"
#include "reports/render/result_schema.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/explain.h"
#include "triodrill/schema/json.h"
#include "triodrill/schema/units.h"
#include "triodrill/text.h"

namespace triodrill::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json ToTree(const Diagnostic& problem) {
  return {{"file", problem.file},
          {"line", problem.line},
          {"column", problem.column},
          {"what", problem.what},
          {"hint", problem.hint}};
}

std::string HoldText(const v1::Shot& shot) {
  if (!shot.has_hold()) return "not held";
  if (shot.hold().has_for_()) return absl::StrCat("held for ", FormatDuration(shot.hold().for_()));
  return absl::StrCat("held until ", shot.hold().until(), ", at most ", FormatDuration(shot.hold().max()));
}

void PrintProofs(const v1::PipelineSpec& pipeline) {
  std::printf("\nSteps, and what can prove them:\n");
  for (const plan::StepProofs& proofs : plan::ProofsOf(pipeline)) {
    std::string text = absl::StrJoin(proofs.signals, ", ");
    if (!proofs.outcome.empty()) absl::StrAppend(&text, text.empty() ? "" : "; or ", proofs.outcome);
    if (text.empty()) text = "nothing: it cannot be seen";
    if (proofs.not_applicable) text = "this pipeline has no such step";
    std::printf("  %-10s %s\n", proofs.step.c_str(), text.c_str());
  }
}

// What has to be done before it can be run.
void PrintApprovals(const v1::Plan& plan) {
  const std::vector<v1::ApprovedFault> faults = FaultsToApprove(plan);
  const ApprovalRules rules = gate::RulesOf(plan, "");
  if (faults.empty() || !rules.waived.empty() || rules.approvers.empty()) return;
  std::printf("\nTo be approved before it is run, by %d of %zu persons:\n", rules.wanted, rules.approvers.size());
  for (const v1::ApprovedFault& fault : faults) std::printf("  %s: %s\n", fault.id().c_str(), fault.kind().c_str());
  std::printf("  `triodrill plan DRILL --out PLAN`, then `triodrill approve PLAN --key KEY --as NAME --out FILE`\n");
}

void PrintPlan(const v1::Plan& plan, const std::vector<v1::Check>& checks) {
  std::printf("Drill %s on partition %s against pipeline %s\n", plan.drill().metadata().name().c_str(),
              plan.partition().metadata().name().c_str(), plan.pipeline().metadata().name().c_str());
  if (!plan.drill().metadata().question().empty()) {
    std::printf("Question: %s\n", plan.drill().metadata().question().c_str());
  }
  std::printf("\nTrials (seed %llu):\n", static_cast<unsigned long long>(plan.drill().spec().trials().seed()));
  for (const v1::PlannedTrial& trial : plan.trials()) {
    std::printf("  %3d %s\n", trial.number(), trial.sham() ? "sham" : "faulted");
    for (const v1::Shot& shot : trial.shots()) {
      const Nanos jitter = std::chrono::floor<std::chrono::milliseconds>(ToNanos(shot.jitter()));
      std::printf("      %s: %s on %s, %s after its start, %s\n", shot.fault_id().c_str(), shot.kind().c_str(),
                  plan::TargetText(shot).c_str(), FormatDuration(jitter).c_str(), HoldText(shot).c_str());
    }
  }
  PrintProofs(plan.pipeline().spec());
  PrintApprovals(plan);
  std::printf("\nSafety checks known beforehand (the rest is asked before each trial):\n");
  for (const v1::Check& check : checks) {
    std::printf("  %s %-22s %s\n", check.passed() ? "ok  " : "DENY", check.name().c_str(), check.saw().c_str());
    if (!check.passed()) std::printf("       hint: %s\n", check.hint().c_str());
  }
  std::printf("\nRemarks:\n  - no agent was asked: what the nodes can do is not known yet\n");
  for (const std::string& remark : plan.remarks()) std::printf("  - %s\n", remark.c_str());
  std::printf("\nDigest: sha256:%s\n", PlanDigest(plan).c_str());
}

}  // namespace

ExitCode Validate(const ValidateOptions& options) {
  bool valid = true;
  Json all = Json::array();
  for (const std::string& file : options.files) {
    std::vector<Diagnostic> problems;
    std::string kind;
    if (const std::optional<std::string> text = ReadYamlFile(file, problems)) {
      kind = triodrill::Validate(*text, file, problems);
    }
    valid = valid && problems.empty();
    if (options.json) {
      Json entry{{"file", file}, {"kind", kind}, {"valid", problems.empty()}, {"problems", Json::array()}};
      for (const Diagnostic& problem : problems) entry["problems"].push_back(ToTree(problem));
      all.push_back(std::move(entry));
    } else if (problems.empty()) {
      std::printf("%s: valid %s\n", file.c_str(), kind.c_str());
    } else {
      std::fputs(Text(problems).c_str(), stderr);
    }
  }
  if (options.json) std::fputs(Dump(all).c_str(), stdout);
  return valid ? ExitCode::kPassed : ExitCode::kInvalidFile;
}

ExitCode ShowPlan(const PlanOptions& options) {
  ExitCode code = ExitCode::kInternal;
  std::optional<Loaded<v1::Drill>> drill = ReadDrill(options.drill, code);
  if (!drill) return code;
  const std::optional<Profiles> profiles = LoadProfiles(options.where, code);
  if (!profiles) return code;
  Override(drill->message, options.often);
  const plan::Outcome outcome = plan::MakePlan(
      {drill->message, profiles->partition.message, profiles->pipeline.message, std::string(kVersion), std::nullopt});
  if (!outcome.plan) {
    for (const plan::Refusal& refusal : outcome.refusals) {
      PrintError(absl::StrCat(drill->file, ": ", refusal.what, "; hint: ", refusal.hint));
    }
    return outcome.refusals.front().exit_code;
  }
  if (options.power) {
    const v1::Trials& trials = outcome.plan->drill().spec().trials();
    std::fputs(PowerText(trials.faulted(), trials.sham(), {}).c_str(), stdout);
    return ExitCode::kPassed;
  }
  std::vector<v1::Check> checks = gate::Gate::Beforehand(*outcome.plan);
  checks.push_back(gate::MayBeApproved(*outcome.plan));
  bool permitted = true;
  for (const v1::Check& check : checks) permitted = permitted && check.passed();
  if (!options.out.empty()) {
    if (const Status written = WriteWholeFile(options.out, PlanBytes(*outcome.plan)); !written.ok()) {
      PrintError(Cat("the plan cannot be written: ", std::string(written.message())));
      return ExitCode::kInternal;
    }
  }
  if (options.json) {
    std::fputs(ToPrettyJson(*outcome.plan).c_str(), stdout);
  } else {
    PrintPlan(*outcome.plan, checks);
  }
  return permitted ? ExitCode::kPassed : ExitCode::kRefused;
}

ExitCode Faults(const FaultsOptions& options) {
  if (!options.json) {
    std::fputs(ExplainFaults().c_str(), stdout);
    return ExitCode::kPassed;
  }
  Json all = Json::array();
  for (const FaultRow& row : FaultCatalogue()) {
    const v1::FaultFacts& facts = row.facts;
    Json parameters = Json::array();
    for (int i = 0; i < row.parameters->field_count(); ++i) parameters.push_back(row.parameters->field(i)->name());
    all.push_back({{"kind", row.kind},
                   {"level", v1::Level_Name(facts.level())},
                   {"category", v1::Category_Name(facts.category())},
                   {"reversal", v1::Reversal_Name(facts.reversal())},
                   {"tier", v1::Tier_Name(facts.tier())},
                   {"role", facts.role()},
                   {"parameters", std::move(parameters)},
                   {"privileges", std::vector<std::string>(facts.privileges().begin(), facts.privileges().end())},
                   {"proof", facts.proof()},
                   {"doc", facts.doc()}});
  }
  std::fputs(Dump(all).c_str(), stdout);
  return ExitCode::kPassed;
}

ExitCode ExplainSchema(const ExplainOptions& options) {
  if (const std::string results = ResultSchema(options.json_schema); !results.empty()) {
    std::fputs(results.c_str(), stdout);
    return ExitCode::kPassed;
  }
  const Result<std::string> text =
      options.json_schema.empty() ? Explain(options.path) : JsonSchema(options.json_schema);
  if (!text.ok()) {
    const std::string results = absl::StrCat("; of results: ", absl::StrJoin(kResultKinds, ", "));
    PrintError(absl::StrCat(text.status().message(), options.json_schema.empty() ? "" : results));
    return ExitCode::kUsage;
  }
  std::fputs(text->c_str(), stdout);
  return ExitCode::kPassed;
}

}  // namespace triodrill::cli
