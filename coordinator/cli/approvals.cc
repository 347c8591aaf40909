#include "coordinator/cli/approvals.h"

#include <sys/stat.h>

#include <utility>

#include "coordinator/cli/origin.h"
#include "coordinator/cli/version.h"
#include "coordinator/os/clock.h"
#include "coordinator/plan/plan.h"
#include "reports/evidence/bundle.h"
#include "reports/evidence/files.h"
#include "triodrill/text.h"

namespace triodrill::cli {
namespace {

constexpr char kNext[] =
    "next: `triodrill plan DRILL --out PLAN` as it is to be run, `triodrill approve PLAN --key KEY --as NAME --out "
    "FILE`, then run with --approval FILE";

Result<std::string> ReadApproval(const std::string& file) {
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0) return ErrnoStatus("look at", file);
  if (!S_ISREG(facts.st_mode)) return absl::InvalidArgumentError(Cat(file, ": not a regular file"));
  if (static_cast<size_t>(facts.st_size) > kMostApprovalBytes) {
    return absl::InvalidArgumentError(Cat(file, ": larger than 64 KiB, which no approval is"));
  }
  return ReadWholeFile(file);
}

}  // namespace

std::optional<std::vector<std::string>> ReadApprovals(const std::vector<std::string>& files) {
  std::vector<std::string> envelopes;
  for (const std::string& file : files) {
    Result<std::string> text = ReadApproval(file);
    if (text.ok()) {
      envelopes.push_back(*std::move(text));
    } else {
      PrintError(Cat("an approval cannot be read: ", std::string(text.status().message()), "; ", kNext));
    }
  }
  if (envelopes.size() != files.size()) return std::nullopt;
  return envelopes;
}

gate::Approvals ShownNow(std::vector<std::string> envelopes) {
  return {std::move(envelopes), coordinator::WallSeconds(), LoginName()};
}

std::vector<std::string> RefusalLines(const gate::ApprovalAnswer& answer) {
  std::vector<std::string> lines;
  for (const std::string& problem : answer.problems) lines.push_back(Cat("refused: ", problem, "; ", kNext));
  return lines;
}

ExitCode CheckBeforehand(const Loaded<v1::Drill>& drill, const Profiles& profiles,
                         const std::vector<std::string>& envelopes) {
  const plan::Outcome outcome = plan::MakePlan(
      {drill.message, profiles.partition.message, profiles.pipeline.message, std::string(kVersion), std::nullopt});
  // With the nodes asked there may be one; if not, it is refused there, with the reason.
  if (!outcome.plan) return ExitCode::kPassed;
  const gate::ApprovalAnswer answer = gate::ApprovalOf(*outcome.plan, PlanDigest(*outcome.plan), ShownNow(envelopes));
  for (const std::string& line : RefusalLines(answer)) PrintError(line);
  return answer.problems.empty() ? ExitCode::kPassed : ExitCode::kRefused;
}

}  // namespace triodrill::cli
