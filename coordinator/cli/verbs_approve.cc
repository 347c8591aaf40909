// approve: a person says yes to a plan, and signs it. No root, no agent, no network.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coordinator/cli/inputs.h"
#include "coordinator/cli/origin.h"
#include "coordinator/cli/verbs.h"
#include "coordinator/gate/approvals.h"
#include "coordinator/os/clock.h"
#include "coordinator/plan/plan.h"
#include "reports/evidence/bundle.h"
#include "reports/evidence/files.h"
#include "reports/evidence/signing.h"
#include "triodrill/schema/json.h"
#include "triodrill/schema/units.h"
#include "triodrill/signed/dsse.h"
#include "triodrill/text.h"

namespace triodrill::cli {
namespace {

Result<v1::Plan> ReadPlan(const std::string& file, std::string& digest) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(file));
  v1::Plan plan;
  const Status read = FromJson(bytes, plan);
  if (!read.ok() || PlanBytes(plan) != bytes) {
    return absl::InvalidArgumentError(Cat(file, ": not a plan as it was written", read.ok() ? "" : ": ",
                                          std::string(read.message()),
                                          "; next: triodrill plan DRILL --out FILE, with this version"));
  }
  digest = HexDigest(bytes);
  return plan;
}

// The faults that are to be approved: all that need it, or those named.
Result<std::vector<v1::ApprovedFault>> Chosen(const v1::Plan& plan, const std::string& ids) {
  std::vector<v1::ApprovedFault> all = FaultsToApprove(plan);
  if (all.empty()) return absl::FailedPreconditionError("no fault of this plan needs an approval: run it as it is");
  if (ids == "all") return all;
  std::vector<v1::ApprovedFault> chosen;
  const std::vector<std::string> wanted = absl::StrSplit(ids, ',');
  for (const std::string& id : wanted) {
    const size_t before = chosen.size();
    for (const v1::ApprovedFault& fault : all) {
      if (fault.id() == id) chosen.push_back(fault);
    }
    if (chosen.size() > before) continue;
    std::vector<std::string> known;
    for (const v1::ApprovedFault& fault : all) known.push_back(fault.id());
    return absl::InvalidArgumentError(
        Cat("no fault `", id, "` of this plan needs an approval; those that do: ", absl::StrJoin(known, ", ")));
  }
  return chosen;
}

std::string WhereOf(const v1::Plan& plan, const v1::ApprovedFault& fault) {
  std::vector<std::string> targets;
  int shots = 0;
  for (const v1::PlannedTrial& trial : plan.trials()) {
    for (const v1::Shot& shot : trial.shots()) {
      if (shot.fault_id() != fault.id()) continue;
      ++shots;
      std::string target = plan::TargetText(shot);
      if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(std::move(target));
    }
  }
  return Cat(shots, shots == 1 ? " shot" : " shots", " on ", absl::StrJoin(targets, ", "), ", at most ",
             FormatDuration(Nanos(fault.max_hold_ns())), " each");
}

std::string Shown(const v1::Plan& plan, const v1::Approval& approval) {
  std::string text =
      Cat("Drill      ", approval.drill(), "\nPartition  ", approval.partition(),
          "\nPlan       sha256:", approval.plan_digest(), "\nTrials     ", plan.trials_size(), "\nTo be approved:\n");
  for (const v1::ApprovedFault& fault : approval.faults()) {
    Append(text, "  ", fault.id(), ": ", fault.kind(), ", tier confirm: ", WhereOf(plan, fault), "\n");
  }
  const std::vector<v1::ApprovedFault> irreversible = IrreversibleFaults(plan);
  if (!irreversible.empty()) text += "Also fired, not to be taken back, of tier auto:\n";
  for (const v1::ApprovedFault& fault : irreversible) {
    Append(text, "  ", fault.id(), ": ", fault.kind(), ": ", WhereOf(plan, fault), "\n");
  }
  Append(text, "As         ", approval.approver(), ", key ", approval.key_id(), "\nUntil      ",
         UtcText(approval.expires_s()), "\n");
  return text;
}

// Yes on a terminal, or --yes. Nobody is asked through a pipe.
ExitCode Asked(const ApproveOptions& options) {
  if (options.yes) return ExitCode::kPassed;
  if (isatty(STDIN_FILENO) != 1) {
    PrintError("approve: there is no terminal to ask on; next: read what is above, and give --yes");
    return ExitCode::kUsage;
  }
  std::fputs("Approve this? [y/N] ", stderr);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return ExitCode::kPassed;
  PrintError("approve: not approved; nothing was written");
  return ExitCode::kRefused;
}

Result<v1::Approval> MakeApproval(const ApproveOptions& options, const v1::Plan& plan, const std::string& digest,
                                  const SigningKey& key) {
  const Result<Nanos> lasts = ParseDuration(options.expires);
  if (!lasts.ok()) {
    return absl::InvalidArgumentError(Cat("--expires ", options.expires, ": ", std::string(lasts.status().message())));
  }
  const std::optional<int64_t> now = coordinator::WallSeconds();
  if (!now) return absl::UnavailableError("the clock cannot be read; an approval without a time is none");
  v1::Approval approval;
  approval.set_plan_digest(digest);
  approval.set_drill(plan.drill().metadata().name());
  approval.set_partition(plan.partition().metadata().name());
  approval.set_approver(options.name);
  approval.set_key_id(key.public_key().id());
  approval.set_user(LoginName());
  utsname machine{};
  if (uname(&machine) == 0) approval.set_host(machine.nodename);
  approval.set_issued_s(*now);
  approval.set_expires_s(*now + std::chrono::floor<std::chrono::seconds>(*lasts).count());
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<v1::ApprovedFault> faults, Chosen(plan, options.faults));
  for (const v1::ApprovedFault& fault : faults) *approval.add_faults() = fault;
  // What would not be taken is not signed.
  Result<v1::Approval> read = ParseApprovalStatement(ApprovalStatement(approval));
  if (!read.ok()) return absl::InvalidArgumentError(std::string(read.status().message()));
  return read;
}

// An approver whom the partition does not know would be refused later; it is said now.
void Warn(const v1::Plan& plan, const v1::Approval& approval) {
  const ApprovalRules rules = gate::RulesOf(plan, "");
  const bool known = std::any_of(rules.approvers.begin(), rules.approvers.end(), [&](const ApproverKey& one) {
    return one.name == approval.approver() && one.key.id() == approval.key_id();
  });
  if (known) return;
  std::fprintf(stderr, "triodrill: warning: partition '%s' knows no approver %s with this key, and will not count it\n",
               approval.partition().c_str(), approval.approver().c_str());
}

ExitCode Invalid(const Status& status) {
  PrintError(Cat("approve: ", std::string(status.message())));
  return ExitCode::kInvalidFile;
}

ExitCode Failed(const Status& status) {
  PrintError(Cat("approve: ", std::string(status.message())));
  return absl::IsInvalidArgument(status) ? ExitCode::kUsage : CodeOf(status);
}

}  // namespace

ExitCode Approve(const ApproveOptions& options) {
  std::string digest;
  const Result<v1::Plan> plan = ReadPlan(options.plan, digest);
  if (!plan.ok()) return Invalid(plan.status());
  const Result<SigningKey> key = SigningKey::Load(options.key);
  if (!key.ok()) return Invalid(key.status());
  const Result<v1::Approval> approval = MakeApproval(options, *plan, digest, *key);
  if (!approval.ok()) return Failed(approval.status());
  std::fputs(Shown(*plan, *approval).c_str(), stdout);
  std::fflush(stdout);
  Warn(*plan, *approval);
  if (const ExitCode asked = Asked(options); asked != ExitCode::kPassed) return asked;
  const std::string statement = ApprovalStatement(*approval);
  const Result<std::string> signature = key->Sign(Pae(kInTotoType, statement));
  if (!signature.ok()) return Failed(signature.status());
  const std::string envelope = EnvelopeText({std::string(kInTotoType), statement, approval->key_id(), *signature});
  if (const Status written = WriteWholeFile(options.out, envelope); !written.ok()) return Failed(written);
  std::printf("%s: run with --approval %s\n", options.out.c_str(), options.out.c_str());
  return ExitCode::kPassed;
}

}  // namespace triodrill::cli
