#include "injectors/cpu/throttle.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <utility>

#include "injectors/journal/record.h"
#include "injectors/os/fd.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"
#include "injectors/process/drill_cgroup.h"
#include "injectors/process/target.h"
#include "triodrill/time.h"

namespace triodrill {
namespace {

constexpr std::string_view kController = "cpu";
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

class CpuThrottle final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override;
  Status Apply(const v1::UndoRecord& record) override;
  Status Revert(const v1::UndoRecord& record) override;
  Result<Effect> Inspect(const v1::UndoRecord& record) override;
};

Result<v1::UndoRecord> CpuThrottle::Prepare(const v1::AimedFault& fault) {
  TRIODRILL_ASSIGN_OR_RETURN(const Quota quota, QuotaOf(fault.with().cpu_throttle()));
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
  const v1::ProcessIdentity& who = process.identity();
  TRIODRILL_ASSIGN_OR_RETURN(v1::CgroupPrior prior, PlanDrillCgroup(fault, kController));
  prior.set_quota_us(quota.quota_us);
  prior.set_period_us(quota.period_us);
  TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "cpu-quota")));
  record.set_by_hand(EmptyByHand(prior));
  *record.mutable_cgroup() = std::move(prior);
  if (process.Ended()) return absl::NotFoundError(Cat("prepare cpu.throttle: ", Describe(who), " has ended"));
  return record;
}

Status CpuThrottle::Apply(const v1::UndoRecord& record) {
  const v1::CgroupPrior& ours = record.cgroup();
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
  TRIODRILL_ASSIGN_OR_RETURN(const UniqueFd directory, MakeDrillCgroup(ours, kController));
  if (ours.version() == 2) {
    TRIODRILL_RETURN_IF_ERROR(
        WriteControlFileAt(directory.get(), "cpu.max", Cat(ours.quota_us(), " ", ours.period_us())));
  } else {
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(directory.get(), "cpu.cfs_period_us", Cat(ours.period_us())));
    Step("throttle: period written");
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(directory.get(), "cpu.cfs_quota_us", Cat(ours.quota_us())));
  }
  Step("throttle: quota written");
  TRIODRILL_RETURN_IF_ERROR(MoveInto(directory.get(), process));
  // Had the target ended before the write, its number could have been another's: an error makes the caller revert.
  if (process.Ended()) return absl::NotFoundError(Cat("throttle ", Describe(process.identity()), ": it has ended"));
  return Ok();
}

Status CpuThrottle::Revert(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) return Ok();
  const v1::CgroupPrior& ours = record.cgroup();
  const Result<UniqueFd> directory = OpenDrillCgroup(ours);
  if (absl::IsNotFound(directory.status())) return DisableController(ours, kController);
  TRIODRILL_RETURN_IF_ERROR(directory.status());
  TRIODRILL_ASSIGN_OR_RETURN(const Limits limits, LookAtLimits(directory->get(), ours));
  if (limits.whose == Whose::kForeign) return Ok();
  return EmptyAndRemove(directory->get(), ours, kController);
}

Result<Effect> CpuThrottle::Inspect(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: cgroups do not survive a reboot"};
  const v1::CgroupPrior& ours = record.cgroup();
  const Result<UniqueFd> directory = OpenDrillCgroup(ours);
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
  const Result<OwnCgroup> own = FindCgroup(::getpid(), kController);
  const Status place = own.ok() ? PlaceFor(*own, kController).status() : own.status();
  capability.set_possible(place.ok());
  capability.set_reason(place.ok() ? Cat("cgroup v", own->version) : std::string(place.message()));
  return capability;
}

}  // namespace triodrill
