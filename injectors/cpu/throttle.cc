#include "injectors/cpu/throttle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "injectors/cpu/cgroup.h"
#include "injectors/journal/record.h"
#include "injectors/os/clock.h"
#include "injectors/os/fd.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"
#include "injectors/process/target.h"
#include "triodrill/time.h"

namespace triodrill {
namespace {

constexpr int64_t kLeastQuotaUs = 1000;  // the kernel's floor, v1 and v2

struct Quota {
  int64_t quota_us;
  int64_t period_us;
};

Result<Quota> QuotaOf(const v1::CpuThrottle& with) {
  Quota quota{0, 100'000};
  if (with.has_period()) quota.period_us = ToNanos(with.period()).count() / 1000;
  quota.quota_us = std::llround(with.quota() / 100.0 * static_cast<double>(quota.period_us));
  if (quota.period_us < 1000 || quota.period_us > 1'000'000) {
    return absl::InvalidArgumentError(
        Cat("cpu.throttle: a period of ", quota.period_us, " us; 1ms to 1s are possible"));
  }
  if (quota.quota_us < kLeastQuotaUs) {
    return absl::InvalidArgumentError(Cat("cpu.throttle: ", with.quota(), "% of ", quota.period_us, " us is ",
                                          quota.quota_us, " us, below the kernel's least of 1ms; use a longer period"));
  }
  return quota;
}

// The open directory of our cgroup: everything after is done relative to it, so that a directory put in its place later
// is not touched. NotFound if it is gone; FailedPrecondition if it is not the one that we made.
Result<UniqueFd> OpenOurs(const v1::CgroupPrior& ours) {
  UniqueFd fd(::open(ours.made_directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return ErrnoStatus("open cgroup", ours.made_directory());
  struct stat seen {};
  if (::fstat(fd.get(), &seen) != 0) return ErrnoStatus("look at cgroup", ours.made_directory());
  if (ours.made_inode() != 0 && seen.st_ino != ours.made_inode()) {
    return absl::FailedPreconditionError(Cat("cgroup ", ours.made_directory(), ": another one by that name"));
  }
  return fd;
}

// Ours, or made and not limited yet: only those may be taken away. Anything else was written by somebody else.
enum class Whose { kOurs, kHalfMade, kForeign };
struct Limits {
  Whose whose;
  std::string text;
};
Result<Limits> LookAtLimits(int directory, const v1::CgroupPrior& ours) {
  TRIODRILL_ASSIGN_OR_RETURN(const CpuLimit limit, ReadCpuLimit(directory, ours.version()));
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<pid_t> processes, ReadCgroupProcesses(directory));
  if (!limit.quota_us.has_value()) {
    // The quota is written before a process is moved in.
    return Limits{processes.empty() ? Whose::kHalfMade : Whose::kForeign, "no quota"};
  }
  const std::string text = Cat("quota ", *limit.quota_us, " us of ", limit.period_us, " us");
  const bool same = *limit.quota_us == ours.quota_us() && limit.period_us == ours.period_us();
  return Limits{same ? Whose::kOurs : Whose::kForeign, text};
}

// Where processes go back to: the prior cgroup, or what is left of its path if somebody removed it meanwhile.
std::string WayBack(const v1::CgroupPrior& ours) {
  std::filesystem::path back = ours.prior_directory();
  const std::filesystem::path top = std::filesystem::path(ours.made_directory()).parent_path();
  while (back != top && back.has_relative_path() && ::access((back / "cgroup.procs").c_str(), F_OK) != 0) {
    back = back.parent_path();
  }
  return back.string();
}

// Everything in our cgroup goes back, also what the target started meanwhile. Ok also if some ended under our hands.
Status MoveAllBack(int directory, const v1::CgroupPrior& ours) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<pid_t> processes, ReadCgroupProcesses(directory));
  if (processes.empty()) return Ok();
  const std::string back = WayBack(ours);
  Status first;
  for (const pid_t pid : processes) {
    if (pid == 0) {
      first.Update(absl::FailedPreconditionError(Cat(
          "empty cgroup ", ours.made_directory(), ": a process of another pid namespace is in it; run on the host")));
      continue;
    }
    // A pid of cgroup.procs that ends and is reused before the write would be moved for nothing: only a process in our
    // cgroup now is named, and the window is one system call.
    const Status moved = WriteControlFileAt(AT_FDCWD, Cat(back, "/cgroup.procs"), Cat(pid));
    Step("throttle: one process moved back");
    if (!moved.ok() && ::access(Cat("/proc/", pid).c_str(), F_OK) == 0) first.Update(moved);
  }
  return first;
}

// v2: takes `cpu` out of the parent's subtree again, unless one of its children has CPU settings by now.
Status DisableCpu(const v1::CgroupPrior& ours) {
  if (ours.enabled_in().empty()) return Ok();
  const std::string& parent = ours.enabled_in();
  const Result<std::vector<std::string>> children = ListDirectory(parent);
  if (absl::IsNotFound(children.status())) return Ok();
  TRIODRILL_RETURN_IF_ERROR(children.status());
  for (const std::string& child : *children) {
    const Result<std::string> max = ReadFile(Cat(parent, "/", child, "/cpu.max"));
    const Result<std::string> weight = ReadFile(Cat(parent, "/", child, "/cpu.weight"));
    if (max.ok() && !max->starts_with("max ")) return Ok();
    if (weight.ok() && *weight != "100\n") return Ok();
  }
  return WriteControlFileAt(AT_FDCWD, Cat(parent, "/cgroup.subtree_control"), "-cpu");
}

class CpuThrottle final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override;
  Status Apply(const v1::UndoRecord& record) override;
  Status Revert(const v1::UndoRecord& record) override;
  Result<Effect> Inspect(const v1::UndoRecord& record) override;
};

Result<v1::UndoRecord> CpuThrottle::Prepare(const v1::AimedFault& fault) {
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(fault.shot()));
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(fault.run_id()));  // both become part of a directory's name
  TRIODRILL_ASSIGN_OR_RETURN(const Quota quota, QuotaOf(fault.with().cpu_throttle()));
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
  const v1::ProcessIdentity& who = process.identity();
  TRIODRILL_ASSIGN_OR_RETURN(const CpuCgroup own, FindCpuCgroup(who.pid()));
  TRIODRILL_ASSIGN_OR_RETURN(const CgroupPlace place, PlaceFor(own));
  const std::string made = Cat(place.parent, "/triodrill-", fault.run_id(), "-", fault.shot());
  if (::access(made.c_str(), F_OK) == 0) {
    return absl::AlreadyExistsError(Cat("make cgroup ", made, ": it is there already; settle its drill first"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "cpu-quota")));
  v1::CgroupPrior& prior = *record.mutable_cgroup();
  prior.set_version(own.version);
  prior.set_made_directory(made);
  prior.set_prior_directory(own.directory);
  prior.set_quota_us(quota.quota_us);
  prior.set_period_us(quota.period_us);
  if (place.enable_cpu) prior.set_enabled_in(place.parent);
  record.set_by_hand(Cat("for p in $(cat ", made, "/cgroup.procs); do echo $p > ", own.directory,
                         "/cgroup.procs; done; rmdir ", made));
  if (process.Ended()) return absl::NotFoundError(Cat("prepare cpu.throttle: ", Describe(who), " has ended"));
  return record;
}

Status CpuThrottle::Apply(const v1::UndoRecord& record) {
  const v1::CgroupPrior& ours = record.cgroup();
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
  if (!ours.enabled_in().empty()) {
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(AT_FDCWD, Cat(ours.enabled_in(), "/cgroup.subtree_control"), "+cpu"));
    Step("throttle: controller enabled");
  }
  if (::mkdir(ours.made_directory().c_str(), 0755) != 0) return ErrnoStatus("make cgroup", ours.made_directory());
  Step("throttle: cgroup made");
  TRIODRILL_ASSIGN_OR_RETURN(const UniqueFd directory, OpenOurs(ours));
  if (ours.version() == 2) {
    TRIODRILL_RETURN_IF_ERROR(
        WriteControlFileAt(directory.get(), "cpu.max", Cat(ours.quota_us(), " ", ours.period_us())));
  } else {
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(directory.get(), "cpu.cfs_period_us", Cat(ours.period_us())));
    Step("throttle: period written");
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(directory.get(), "cpu.cfs_quota_us", Cat(ours.quota_us())));
  }
  Step("throttle: quota written");
  TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(directory.get(), "cgroup.procs", Cat(process.identity().pid())));
  Step("throttle: process moved");
  // Had the target ended before the write, its number could have been another's: an error makes the caller revert.
  if (process.Ended()) return absl::NotFoundError(Cat("throttle ", Describe(process.identity()), ": it has ended"));
  return Ok();
}

Status CpuThrottle::Revert(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) return Ok();
  const v1::CgroupPrior& ours = record.cgroup();
  const Result<UniqueFd> directory = OpenOurs(ours);
  if (absl::IsNotFound(directory.status())) return DisableCpu(ours);
  TRIODRILL_RETURN_IF_ERROR(directory.status());
  TRIODRILL_ASSIGN_OR_RETURN(const Limits limits, LookAtLimits(directory->get(), ours));
  if (limits.whose == Whose::kForeign) return Ok();
  Status last;
  // A cgroup is busy as long as a process in it is on its way out, and a fork can come in while we empty it.
  const bool gone = LookUntil(std::chrono::seconds(5), [&] {
    last = MoveAllBack(directory->get(), ours);
    if (!last.ok()) return absl::IsPermissionDenied(last);
    Step("throttle: emptied");
    if (::rmdir(ours.made_directory().c_str()) == 0 || errno == ENOENT) return true;
    last = ErrnoStatus("remove cgroup", ours.made_directory());
    return errno != EBUSY;
  });
  Step("throttle: removed");
  if (!last.ok()) return last;
  if (!gone) return absl::DeadlineExceededError(Cat("empty cgroup ", ours.made_directory(), ": processes keep coming"));
  return DisableCpu(ours);
}

Result<Effect> CpuThrottle::Inspect(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: cgroups do not survive a reboot"};
  const v1::CgroupPrior& ours = record.cgroup();
  const Result<UniqueFd> directory = OpenOurs(ours);
  if (absl::IsNotFound(directory.status())) {
    std::string text = Cat("cgroup ", ours.made_directory(), " is gone");
    if (::access(ours.prior_directory().c_str(), F_OK) != 0) {
      Append(text, "; so is the prior cgroup ", ours.prior_directory(), ", removed by somebody else");
    }
    return Effect{Presence::kAbsent, text};
  }
  if (absl::IsFailedPrecondition(directory.status())) {
    return Effect{Presence::kForeign, std::string(directory.status().message())};
  }
  TRIODRILL_RETURN_IF_ERROR(directory.status());
  TRIODRILL_ASSIGN_OR_RETURN(const Limits limits, LookAtLimits(directory->get(), ours));
  if (limits.whose == Whose::kForeign) {
    return Effect{Presence::kForeign, Cat(ours.made_directory(), ": ", limits.text, ", which is not what we wrote")};
  }
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<pid_t> processes, ReadCgroupProcesses(directory->get()));
  TRIODRILL_ASSIGN_OR_RETURN(const int64_t throttled, ReadThrottledCount(directory->get()));
  bool listed = false;
  for (const pid_t pid : processes) listed = listed || pid == record.fault().target().process().pid();
  std::string why;
  TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
  listed = listed && process.has_value();
  const std::string text = Cat(limits.text, ", ", listed ? "process listed" : "process not listed", ", nr_throttled ",
                               throttled, process.has_value() ? "" : Cat("; ", why));
  const bool landed = limits.whose == Whose::kOurs && listed && throttled > 0;
  return Effect{landed ? Presence::kPresent : Presence::kAbsent, text};
}

}  // namespace

std::unique_ptr<Injector> MakeCpuThrottle() { return std::make_unique<CpuThrottle>(); }

v1::Capability ProbeCpuThrottle() {
  v1::Capability capability;
  capability.set_kind("cpu.throttle");
  const Result<CpuCgroup> own = FindCpuCgroup(::getpid());
  const Status place = own.ok() ? PlaceFor(*own).status() : own.status();
  capability.set_possible(place.ok());
  capability.set_reason(place.ok() ? Cat("cgroup v", own->version) : std::string(place.message()));
  return capability;
}

}  // namespace triodrill
