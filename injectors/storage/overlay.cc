#include "injectors/storage/overlay.h"

#include <signal.h>
#include <sys/stat.h>

#include <utility>

#include "injectors/journal/record.h"
#include "injectors/os/clock.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/target.h"
#include "injectors/storage/mounts.h"
#include "injectors/storage/overlay_order.h"
#include "injectors/storage/overlay_place.h"
#include "injectors/storage/place.h"

namespace triodrill {
namespace {

constexpr std::string_view kFull = "storage.full";
constexpr std::string_view kSlow = "storage.slow";
constexpr Nanos kEndWithin = std::chrono::seconds(5);

Result<OverlayRules> RulesOf(const v1::AimedFault& fault) {
  OverlayRules rules;
  if (fault.kind() == kFull) {
    const v1::StorageFull& with = fault.with().storage_full();
    rules.after_bytes = with.after_bytes();
    rules.quota = with.quota();
    if (rules.after_bytes >= 0) return rules;
    return absl::InvalidArgumentError("prepare storage.full: after_bytes is negative");
  }
  const v1::StorageSlow& with = fault.with().storage_slow();
  rules.delay = ToNanos(with.delay());
  rules.bytes_per_second = with.bytes_per_second();
  const bool sane = rules.delay >= Nanos(0) && rules.delay <= std::chrono::seconds(60) && rules.bytes_per_second >= 0;
  if (sane && (rules.delay > Nanos(0) || rules.bytes_per_second > 0)) return rules;
  return absl::InvalidArgumentError(
      "prepare storage.slow: delay is at most 60 s, and it or bytes_per_second must be more than nothing");
}

std::string DirectoryOf(const v1::AimedFault& fault) {
  const std::string& directory =
      fault.kind() == kFull ? fault.with().storage_full().directory() : fault.with().storage_slow().directory();
  return directory.empty() ? "checkpoint" : directory;
}

bool IsReleased(const ProcessHandle& helper) {
  if (helper.Ended()) return true;
  const Result<ProcessStat> stat = ReadProcessStat(helper.identity().pid());
  return stat.ok() ? stat->name == kOverlayReleased : absl::IsNotFound(stat.status());
}

class Overlay final : public Injector {
 public:
  Overlay(std::string_view kind, std::string program)
      : kind_(kind), helper_(kOverlayProgram, kOverlayCount, std::move(program)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_RETURN_IF_ERROR(RulesOf(fault).status());
    TRIODRILL_RETURN_IF_ERROR(helper_.Check(kind_));
    TRIODRILL_RETURN_IF_ERROR(CheckMayMount(kind_));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    TRIODRILL_RETURN_IF_ERROR(CheckSameMounts(process, kind_));
    TRIODRILL_ASSIGN_OR_RETURN(const StoragePlace place, PlaceBelow(process, DirectoryOf(fault), kind_));
    TRIODRILL_RETURN_IF_ERROR(CheckMayBeCovered(process, place, kind_));
    struct stat seen {};
    if (::fstat(place.directory.get(), &seen) != 0) return ErrnoStatus("look at", place.path);
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, Cat("storage/", place.path)));
    v1::OverlayPrior& prior = *record.mutable_overlay();
    prior.set_directory(place.path);
    prior.set_device(seen.st_dev);
    prior.set_inode(place.inode);
    prior.set_token(Cat("triodrill-", PlaceToken(fault, place.inode)));
    record.set_by_hand(Cat("umount --lazy ", place.path, "  # only while /proc/self/mountinfo names ", prior.token(),
                           " there; then end every ", kOverlayProgram, " with ", TokenArgument(prior.token()),
                           " on its command line, once nothing is open through it"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    const v1::OverlayPrior& prior = record.overlay();
    OverlayOrder order;
    TRIODRILL_ASSIGN_OR_RETURN(order.rules, RulesOf(record.fault()));
    TRIODRILL_ASSIGN_OR_RETURN(order.common, helper_.OrderFor(record, prior.token()));
    order.directory = prior.directory();
    order.device = prior.device();
    order.inode = prior.inode();
    return helper_.Start(order.common, OverlayArguments(order));
  }

  // First the program passes everything on, for what is held now and what stays open; then the mount goes.
  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    const Status released = ReleaseHelpers(record.overlay().token());
    Step("overlay: program released");
    const Status unmounted = UnmountOverlays(record.overlay().token());
    helper_.Reap();
    return released.ok() ? unmounted : released;
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: mounts do not survive a reboot"};
    const v1::OverlayPrior& prior = record.overlay();
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<MountLine> mounts, ReadMounts());
    const std::vector<MountLine> ours = OverlaysIn(mounts, prior.token());
    if (ours.empty()) return Effect{Presence::kAbsent, Cat("no file system of it is over ", prior.directory())};
    TRIODRILL_ASSIGN_OR_RETURN(const bool on_top, IsOnTop(ours.back()));
    if (!on_top) return Effect{Presence::kForeign, Cat("another file system is mounted over ", ours.back().point)};
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, helper_.Find(prior.token()));
    const std::string over = Cat("file system ", prior.token(), " over ", ours.back().point);
    if (programs.empty()) return Effect{Presence::kPresent, Cat(over, ", and nobody serves it")};
    const int count = helper_.Count(programs);
    return Effect{count > 0 ? Presence::kPresent : Presence::kAbsent, Cat(over, ", ", Counted(count))};
  }

 private:
  std::string Counted(int count) const {
    const std::string_view what = kind_ == kFull ? "refused for want of space" : "held";
    const std::string_view one = kind_ == kFull ? " write " : " operation ";
    const std::string_view several = kind_ == kFull ? " writes " : " operations ";
    return Cat(count, count == 1 ? one : several, what);
  }

  // Returns once none of them will mount anything any more. One that does not listen is killed.
  Status ReleaseHelpers(const std::string& token) const {
    Status trouble;
    int signal = SIGTERM;
    const auto all_released = [&] {
      const Result<std::vector<ProcessHandle>> helpers = helper_.Find(token);
      trouble = helpers.status();
      if (!trouble.ok()) return true;
      bool all = true;
      for (const ProcessHandle& helper : *helpers) {
        if (IsReleased(helper)) continue;
        all = false;
        const Status sent = helper.Signal(signal);
        if (!sent.ok() && !absl::IsNotFound(sent)) trouble = sent;
      }
      return all || !trouble.ok();
    };
    if (LookUntil(kEndWithin, all_released)) return trouble;
    signal = SIGKILL;
    if (LookUntil(kEndWithin, all_released)) return trouble;
    return absl::DeadlineExceededError(Cat("end ", kOverlayProgram, " with token ", token, ": it does not end"));
  }

  const std::string_view kind_;
  const Helper helper_;
};

v1::Capability Probe(std::string_view kind) {
  v1::Capability capability;
  capability.set_kind(std::string(kind));
  Status possible = Helper(kOverlayProgram, kOverlayCount, "").Check(kind);
  if (possible.ok()) possible = CheckMayMount(kind);
  capability.set_possible(possible.ok());
  capability.set_reason(possible.ok() ? "a FUSE mount over the directory" : std::string(possible.message()));
  return capability;
}

}  // namespace

std::unique_ptr<Injector> MakeStorageFull(std::string program) {
  return std::make_unique<Overlay>(kFull, std::move(program));
}
std::unique_ptr<Injector> MakeStorageSlow(std::string program) {
  return std::make_unique<Overlay>(kSlow, std::move(program));
}

v1::Capability ProbeStorageFull() { return Probe(kFull); }
v1::Capability ProbeStorageSlow() { return Probe(kSlow); }

}  // namespace triodrill
