#include "injectors/node/job.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "injectors/process/helper.h"
#include "injectors/process/target.h"

namespace triodrill {
namespace {

class JobPattern {
 public:
  static Result<JobPattern> Of(const v1::AimedFault& fault) {
    if (MatchOf(fault).empty()) {
      return absl::InvalidArgumentError(
          Cat("prepare ", fault.kind(), ": no `match`, and the pipeline's profile gives none either; write one"));
    }
    JobPattern pattern;
    TRIODRILL_ASSIGN_OR_RETURN(pattern.match_, Compile(fault, "match", MatchOf(fault)));
    for (const std::string& one : ProtectedCommands()) {
      TRIODRILL_ASSIGN_OR_RETURN(pattern.protect_.emplace_back(), Compile(fault, "protect_commands", one));
    }
    return pattern;
  }

  // A process without a command line is a zombie or a kernel thread.
  bool IsOfTheJob(const std::string& command) const {
    if (command.empty() || !re2::RE2::PartialMatch(command, *match_)) return false;
    for (const auto& one : protect_) {
      if (re2::RE2::PartialMatch(command, *one)) return false;
    }
    return true;
  }

 private:
  static Result<std::unique_ptr<re2::RE2>> Compile(const v1::AimedFault& fault, std::string_view name,
                                                   const std::string& pattern) {
    auto compiled = std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet);
    if (compiled->ok()) return compiled;
    return absl::InvalidArgumentError(
        Cat("prepare ", fault.kind(), ": ", name, " '", pattern, "': ", compiled->error()));
  }

  std::unique_ptr<re2::RE2> match_;
  std::vector<std::unique_ptr<re2::RE2>> protect_;
};

// NotFound if it is none of the job's, or gone meanwhile.
Result<ProcessHandle> OpenIfOfTheJob(pid_t pid, const JobPattern& pattern) {
  const auto command = [&] { return ReadCommandLine(pid); };
  TRIODRILL_ASSIGN_OR_RETURN(const std::string before, command());
  const Status none = absl::NotFoundError(Cat("pid ", pid, " is none of the job's"));
  if (!pattern.IsOfTheJob(before)) return none;
  TRIODRILL_ASSIGN_OR_RETURN(const v1::ProcessIdentity identity, IdentifyProcess(pid));
  const Status may = CheckMayBeTarget(identity);
  if (absl::IsPermissionDenied(may)) return none;
  TRIODRILL_RETURN_IF_ERROR(may);
  TRIODRILL_ASSIGN_OR_RETURN(ProcessHandle process, ProcessHandle::Open(identity));
  // Once more, now that the pidfd is open: what was read was of this process.
  TRIODRILL_ASSIGN_OR_RETURN(const std::string after, command());
  if (process.Ended() || !pattern.IsOfTheJob(after)) return none;
  return process;
}

}  // namespace

const std::string& MatchOf(const v1::AimedFault& fault) {
  return fault.with().has_node_flapping() ? fault.with().node_flapping().match() : fault.with().node_lost().match();
}

Result<std::vector<ProcessHandle>> FindJobProcesses(const v1::AimedFault& fault) {
  TRIODRILL_ASSIGN_OR_RETURN(const JobPattern pattern, JobPattern::Of(fault));
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<pid_t> pids, AllPids());
  std::vector<ProcessHandle> found;
  for (const pid_t pid : pids) {
    if (pid <= 1) continue;
    Result<ProcessHandle> process = OpenIfOfTheJob(pid, pattern);
    if (absl::IsNotFound(process.status())) continue;
    TRIODRILL_RETURN_IF_ERROR(process.status());
    found.push_back(*std::move(process));
  }
  return found;
}

Result<std::vector<ProcessHandle>> CheckJobProcesses(const v1::AimedFault& fault) {
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle target, OpenTarget(fault));
  TRIODRILL_ASSIGN_OR_RETURN(std::vector<ProcessHandle> found, FindJobProcesses(fault));
  const pid_t pid = target.identity().pid();
  if (std::none_of(found.begin(), found.end(), [&](const auto& one) { return one.identity().pid() == pid; })) {
    TRIODRILL_ASSIGN_OR_RETURN(const std::string command, ReadCommandLine(pid));
    return absl::FailedPreconditionError(Cat("prepare ", fault.kind(), ": the target, '", command,
                                             "', is none of those that match '", MatchOf(fault),
                                             "' and may be hit; processes like another's would be"));
  }
  for (const ProcessHandle& process : found) {
    const Status may = process.Signal(0);
    if (!may.ok() && !absl::IsNotFound(may)) return may;
  }
  return found;
}

}  // namespace triodrill
