#include "injectors/process/oom.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "injectors/journal/record.h"
#include "injectors/os/file.h"
#include "injectors/os/memory.h"
#include "injectors/os/step.h"
#include "injectors/process/drill_cgroup.h"
#include "injectors/process/target.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "process.oom";
constexpr std::string_view kController = "memory";
constexpr int kNeverChosen = -1000;

Result<int64_t> ReadNumberAt(int directory, const std::string& name) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFileAt(directory, name));
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return absl::InternalError(Cat("read ", name, ": '", text, "' is no number"));
}

Result<int64_t> KillsIn(int directory, int version) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text,
                             ReadFileAt(directory, version == 2 ? "memory.events" : "memory.oom_control"));
  return ParseCounter(text, "oom_kill");
}

Status LeaveNoRoomV2(int directory, int64_t headroom) {
  // No way out into swap; without swap there is no such file.
  static_cast<void>(WriteControlFileAt(directory, "memory.swap.max", "0"));
  TRIODRILL_ASSIGN_OR_RETURN(const int64_t usage, ReadNumberAt(directory, "memory.current"));
  return WriteControlFileAt(directory, "memory.max", Cat(usage + headroom));
}

// v1 refuses a limit that is below the usage. Being asked for nothing at all makes it give back first what it holds in
// advance for each processor, which would else be room.
Status LeaveNoRoomV1(int directory, int64_t headroom) {
  constexpr int kTries = 100;
  const Status nothing = WriteControlFileAt(directory, "memory.limit_in_bytes", "0");
  if (nothing.ok() && headroom == 0) return Ok();
  Status last;
  for (int i = 0; i < kTries; ++i) {
    TRIODRILL_ASSIGN_OR_RETURN(const int64_t usage, ReadNumberAt(directory, "memory.usage_in_bytes"));
    last = WriteControlFileAt(directory, "memory.limit_in_bytes", Cat(usage + headroom));
    if (!last.ok()) continue;
    // Where swap is accounted: no way out into it either.
    static_cast<void>(WriteControlFileAt(directory, "memory.memsw.limit_in_bytes", Cat(usage + headroom)));
    return Ok();
  }
  return last;
}

class ProcessOom final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override;
  Status Apply(const v1::UndoRecord& record) override;
  Status Revert(const v1::UndoRecord& record) override;
  Result<Effect> Inspect(const v1::UndoRecord& record) override;
};

Result<v1::UndoRecord> ProcessOom::Prepare(const v1::AimedFault& fault) {
  const double share = fault.with().process_oom().headroom();
  if (!(share >= 0 && share <= 1000)) {
    return absl::InvalidArgumentError(Cat("prepare ", kKind, ": headroom is 0% to 1000%"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
  const v1::ProcessIdentity& who = process.identity();
  TRIODRILL_ASSIGN_OR_RETURN(const int64_t adjusted,
                             ReadNumberAt(AT_FDCWD, Cat("/proc/", who.pid(), "/oom_score_adj")));
  if (adjusted <= kNeverChosen) {
    return absl::FailedPreconditionError(
        Cat("prepare ", kKind, ": ", Describe(who), " is kept from the OOM killer (oom_score_adj ", adjusted, ")"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(const int64_t resident, ResidentBytes(who.pid()));
  TRIODRILL_ASSIGN_OR_RETURN(v1::CgroupPrior prior, PlanDrillCgroup(fault, kController));
  prior.set_limit_bytes(std::llround(share / 100 * static_cast<double>(resident)));
  TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "memory")));
  record.set_by_hand(EmptyByHand(prior));
  *record.mutable_cgroup() = std::move(prior);
  if (process.Ended()) return absl::NotFoundError(Cat("prepare ", kKind, ": ", Describe(who), " has ended"));
  return record;
}

Status ProcessOom::Apply(const v1::UndoRecord& record) {
  const v1::CgroupPrior& ours = record.cgroup();
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
  TRIODRILL_ASSIGN_OR_RETURN(const UniqueFd directory, MakeDrillCgroup(ours, kController));
  if (ours.version() == 1) {
    // Inherited: where it is set, the process would wait instead of being killed.
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(directory.get(), "memory.oom_control", "0"));
  }
  TRIODRILL_RETURN_IF_ERROR(MoveInto(directory.get(), process));
  if (process.Ended()) return absl::NotFoundError(Cat("oom ", Describe(process.identity()), ": it had ended before"));
  Status tight = ours.version() == 2 ? LeaveNoRoomV2(directory.get(), ours.limit_bytes())
                                     : LeaveNoRoomV1(directory.get(), ours.limit_bytes());
  Step("oom: limit written");
  return tight;
}

Status ProcessOom::Revert(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) return Ok();
  const v1::CgroupPrior& ours = record.cgroup();
  const Result<UniqueFd> directory = OpenDrillCgroup(ours);
  if (absl::IsNotFound(directory.status())) return DisableController(ours, kController);
  TRIODRILL_RETURN_IF_ERROR(directory.status());
  return EmptyAndRemove(directory->get(), ours, kController);
}

Result<Effect> ProcessOom::Inspect(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: cgroups do not survive a reboot"};
  const v1::CgroupPrior& ours = record.cgroup();
  const Result<UniqueFd> directory = OpenDrillCgroup(ours);
  if (absl::IsNotFound(directory.status())) {
    return Effect{Presence::kAbsent, Cat("cgroup ", ours.made_directory(), " is gone")};
  }
  TRIODRILL_RETURN_IF_ERROR(directory.status());
  TRIODRILL_ASSIGN_OR_RETURN(const int64_t kills, KillsIn(directory->get(), ours.version()));
  std::string why;
  TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
  const bool landed = kills > 0 && !process.has_value();
  return Effect{
      landed ? Presence::kPresent : Presence::kAbsent,
      Cat("oom_kill ", kills, "; ", process.has_value() ? Cat(Describe(process->identity()), " is alive") : why)};
}

}  // namespace

std::unique_ptr<Injector> MakeProcessOom() { return std::make_unique<ProcessOom>(); }

v1::Capability ProbeProcessOom() {
  v1::Capability capability;
  capability.set_kind(kKind);
  const Result<OwnCgroup> own = FindCgroup(::getpid(), kController);
  const Status place = own.ok() ? PlaceFor(*own, kController).status() : own.status();
  capability.set_possible(place.ok());
  capability.set_reason(place.ok() ? Cat("cgroup v", own->version) : std::string(place.message()));
  return capability;
}

}  // namespace triodrill
