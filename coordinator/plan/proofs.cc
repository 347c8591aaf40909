#include "coordinator/plan/proofs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace triodrill::plan {
namespace {

const char* SourceOf(const v1::Signal& signal) {
  if (signal.has_alertmanager_webhook()) return "alertmanager webhook";
  if (signal.has_alertmanager()) return "alertmanager";
  if (signal.has_prometheus()) return "prometheus";
  if (signal.has_slurm()) return "slurm";
  return "log";
}

struct Step {
  const char* name;
  std::vector<v1::Meaning> proved_by;
  const char* outcome;
};

}  // namespace

// As reports/measure covers them.
std::vector<StepProofs> ProofsOf(const v1::PipelineSpec& pipeline) {
  const Step steps[] = {{"detect", {v1::DETECTED}, ""},
                        {"self_check", {v1::SELF_CHECKED, v1::DIAGNOSED}, ""},
                        {"isolate", {v1::ISOLATED}, "no progress of the faulted in the recovered window"},
                        {"replace", {v1::REPLACED}, "progress of a spare in its place"},
                        {"recover", {v1::PROGRESS}, ""}};
  std::vector<StepProofs> all;
  for (const Step& step : steps) {
    StepProofs proofs{.step = step.name, .signals = {}, .outcome = step.outcome};
    for (const v1::Signal& signal : pipeline.signals()) {
      if (std::find(step.proved_by.begin(), step.proved_by.end(), signal.means()) == step.proved_by.end()) continue;
      proofs.signals.push_back(absl::StrCat(signal.id(), " (", SourceOf(signal), ")"));
    }
    const auto& without = pipeline.not_applicable();
    proofs.not_applicable = std::find(without.begin(), without.end(), proofs.step) != without.end();
    all.push_back(std::move(proofs));
  }
  return all;
}

}  // namespace triodrill::plan
