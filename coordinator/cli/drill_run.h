// One drill on a session: from a loaded drill to a bundle with a verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/cli/session.h"
#include "reports/evidence/derive.h"
#include "reports/evidence/signing.h"
#include "triodrill/exit_code.h"

namespace triodrill::cli {

struct DrillRequest {
  v1::Drill drill;
  std::string drill_text;  // as written: kept in the bundle
  std::string partition_text;
  std::string pipeline_text;
  Bundle bundle;                       // fresh: proved writable before anything was brought up
  const SigningKey* signer = nullptr;  // null: the bundle is not signed
  std::vector<std::string> approvals;  // envelopes
};

struct DrillResult {
  ExitCode exit_code = ExitCode::kInternal;
  std::string problem;  // why there is no verdict
  std::optional<v1::Plan> plan;
  std::optional<Derived> derived;  // the verdict and all that it rests on
  std::string bundle;
};

// Takes a bundle away again that holds nothing yet: the drill was refused before it began.
void Discard(const Bundle& bundle);

DrillResult RunDrill(Session& session, const DrillRequest& request, Clock& clock, Voice& voice);

}  // namespace triodrill::cli
