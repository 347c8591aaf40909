// A verification as text and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/evidence/verify.h"
#include "reports/render/escape.h"
#include "reports/render/json_text.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestText = 1000;

std::string Name(Proof proof) {
  switch (proof) {
    case Proof::kProved:
      return "proved";
    case Proof::kRefuted:
      return "refuted";
    case Proof::kOpen:
      return "open";
  }
  return "";
}

}  // namespace

ExitCode CodeOf(Proof proof) {
  switch (proof) {
    case Proof::kProved:
      return ExitCode::kPassed;
    case Proof::kRefuted:
      return ExitCode::kFailed;
    case Proof::kOpen:
      return ExitCode::kInconclusive;
  }
  return ExitCode::kInternal;
}

std::string VerificationText(const Verification& verification) {
  std::string text = Cat(verification.headline, "\n");
  for (const ProofStep& step : verification.steps) {
    std::string name = step.name;
    name.resize(std::max<size_t>(name.size(), 10), ' ');
    std::string proof = Name(step.proof);
    proof.resize(8, ' ');
    Append(text, "  ", proof, " ", name, " ", PlainText(step.text, kLongestText), "\n");
  }
  if (!verification.verdict_headline.empty()) {
    Append(text, "  the run's verdict, derived again: ", PlainText(verification.verdict_headline, kLongestText), "\n");
  }
  text += "  what no bundle can prove\n";
  for (const std::string& beyond : verification.beyond) Append(text, "    - ", beyond, "\n");
  return text;
}

std::string VerificationJson(const Verification& verification, const std::string& directory) {
  Json steps = Json::array();
  for (const ProofStep& step : verification.steps) {
    steps.push_back({{"name", step.name}, {"proof", Name(step.proof)}, {"text", step.text}});
  }
  return JsonText({{"schema", "triodrill/verification/v1"},
                   {"bundle", directory},
                   {"proof", Name(verification.proof)},
                   {"exit_code", static_cast<int>(CodeOf(verification.proof))},
                   {"headline", verification.headline},
                   {"steps", steps},
                   {"verdict", verification.verdict_headline},
                   {"beyond", verification.beyond}});
}

}  // namespace triodrill
