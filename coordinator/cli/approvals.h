// Approvals as files: read for a run, and shown to it before anything is brought up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/cli/inputs.h"
#include "coordinator/gate/approvals.h"
#include "triodrill/exit_code.h"

namespace triodrill::cli {

// The envelopes in those files, as they are. Problems are printed, one line each; nullopt if there was one.
std::optional<std::vector<std::string>> ReadApprovals(const std::vector<std::string>& files);

// With the clock and the login of now.
gate::Approvals ShownNow(std::vector<std::string> envelopes);

// Whether what is known beforehand of the plan is approved. What is missing is printed, one line each, with the next
// step; kRefused then.
ExitCode CheckBeforehand(const Loaded<v1::Drill>& drill, const Profiles& profiles,
                         const std::vector<std::string>& envelopes);

// Those lines.
std::vector<std::string> RefusalLines(const gate::ApprovalAnswer& answer);

}  // namespace triodrill::cli
