#include "injectors/agent/policy.h"

#include <fcntl.h>
#include <re2/re2.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/os/fd.h"
#include "injectors/os/file.h"
#include "injectors/process/process_identity.h"
#include "triodrill/schema/diagnostic.h"
#include "triodrill/schema/policy.h"
#include "triodrill/signed/approval.h"
#include "triodrill/text.h"

namespace triodrill::agent {
namespace {

constexpr size_t kMaxPolicyBytes = size_t{1} << 20;

// `what` is the policy, or a key that it names.
Result<std::string> ReadTrusted(std::string_view what, const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return ErrnoStatus(Cat("open ", what), path);
  struct stat facts {};
  if (fstat(fd.get(), &facts) != 0) return ErrnoStatus(Cat("look at ", what), path);
  if (!S_ISREG(facts.st_mode)) return absl::InvalidArgumentError(Cat(what, " ", path, ": not a regular file"));
  if (facts.st_uid != 0 && facts.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        Cat(what, " ", path, ": belongs to user ", facts.st_uid, "; next: chown it to root or to this user"));
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(Cat(what, " ", path, ": others may write it; next: chmod go-w ", path));
  }
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t got = read(fd.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(Cat("read ", what), path);
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kMaxPolicyBytes) return absl::InvalidArgumentError(Cat(what, " ", path, ": larger than 1 MiB"));
  }
}

// Keys that are named by a path stand in the policy itself from here on; each must be one.
Status TakeInApprovers(const std::string& path, v1::AgentPolicySpec& policy) {
  for (v1::Approver& approver : *policy.mutable_approvers()) {
    if (!approver.key().starts_with('/')) continue;
    TRIODRILL_ASSIGN_OR_RETURN(*approver.mutable_key(), ReadTrusted("approver's key", approver.key()));
  }
  const Result<ApprovalRules> rules = ApprovalRulesOf(policy);
  if (rules.ok()) return Ok();
  return absl::InvalidArgumentError(Cat("policy ", path, ": ", std::string(rules.status().message())));
}

}  // namespace

Result<v1::AgentPolicySpec> LoadPolicy(const std::string& path) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadTrusted("policy", path));
  v1::AgentPolicy policy;
  std::vector<Diagnostic> problems;
  if (ParseAgentPolicy(text, path, policy, problems)) {
    TRIODRILL_RETURN_IF_ERROR(TakeInApprovers(path, *policy.mutable_spec()));
    return policy.spec();
  }
  std::string all;
  for (const Diagnostic& problem : problems) Append(all, all.empty() ? "" : "\n", problem.Text());
  return absl::InvalidArgumentError(all);
}

Protection::Protection() = default;
Protection::Protection(Protection&&) noexcept = default;
Protection& Protection::operator=(Protection&&) noexcept = default;
Protection::~Protection() = default;

Result<Protection> Protection::Of(const v1::AgentPolicySpec& policy) {
  Protection protection;
  for (const std::string& pattern : policy.protect_commands()) {
    auto compiled = std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet);
    if (!compiled->ok()) {
      return absl::InvalidArgumentError(Cat("policy: protect_commands: '", pattern, "': ", compiled->error()));
    }
    protection.patterns_.push_back(std::move(compiled));
  }
  return protection;
}

Status Protection::CheckCommandLine(const std::string& command_line) const {
  for (const auto& pattern : patterns_) {
    if (re2::RE2::PartialMatch(command_line, *pattern)) {
      return absl::PermissionDeniedError(
          Cat("this node's policy protects command lines like '", pattern->pattern(), "': ", command_line));
    }
  }
  return Ok();
}

Status Protection::Check(const v1::AimedFault& fault) const {
  if (!fault.target().has_process()) return Ok();
  const int pid = fault.target().process().pid();
  const Result<std::string> cmdline = ReadFile(Cat("/proc/", pid, "/cmdline"));
  if (!cmdline.ok()) {
    return absl::FailedPreconditionError(
        Cat("whether the policy protects process ", pid, " cannot be seen: ", std::string(cmdline.status().message())));
  }
  return CheckCommandLine(JoinArguments(*cmdline));
}

}  // namespace triodrill::agent
