#include "reports/render/verdict_json.h"

#include "nlohmann/json.hpp"
#include "reports/render/json_text.h"
#include "reports/render/trio_json.h"

namespace triodrill {
namespace {

using Json = nlohmann::ordered_json;

Json Of(const Objective& objective) {
  Json trials = Json::array();
  for (const TrialAnswer& trial : objective.trials) {
    trials.push_back({{"trial", trial.trial}, {"answer", Name(trial.answer)}, {"reason", trial.reason}});
  }
  return {{"name", objective.name},
          {"expected", objective.expected},
          {"answer", Name(objective.answer)},
          {"reason", objective.reason},
          {"n", objective.n},
          {"passed", objective.passed},
          {"assurance", objective.assurance ? Json(*objective.assurance) : Json(nullptr)},
          {"trials", trials}};
}

}  // namespace

Json VerdictTree(const Verdict& verdict) {
  Json objectives = Json::array();
  for (const Objective& objective : verdict.objectives) objectives.push_back(Of(objective));
  Json blockers = Json::array();
  for (const std::string& blocker : verdict.blockers) blockers.push_back(blocker);
  return {{"schema", "triodrill/verdict/v1"},
          {"drill", verdict.drill},
          {"verdict", Name(verdict.answer)},
          {"outcome", Name(verdict.outcome)},
          {"undo_confirmed", verdict.undo_confirmed},
          {"exit_code", static_cast<int>(verdict.exit_code)},
          {"headline", verdict.headline},
          {"blockers", blockers},
          {"objectives", objectives}};
}

std::string VerdictJson(const Verdict& verdict) { return JsonText(VerdictTree(verdict)); }

std::string RunJson(const Verdict& verdict, const Trio& trio, const std::string& bundle) {
  return JsonText({{"schema", "triodrill/run/v1"},
                   {"drill", verdict.drill},
                   {"exit_code", static_cast<int>(verdict.exit_code)},
                   {"bundle", bundle},
                   {"verdict", VerdictTree(verdict)},
                   {"trio", TrioTree(trio)}});
}

}  // namespace triodrill
