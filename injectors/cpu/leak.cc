#include "injectors/cpu/leak.h"

#include <unistd.h>

#include <utility>

#include "injectors/cpu/leak_order.h"
#include "injectors/journal/record.h"
#include "injectors/os/cgroup.h"
#include "injectors/os/memory.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/target.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "cpu.leak";
constexpr std::string_view kController = "memory";

// Where the target's memory is counted; "" where it is counted nowhere but on the node.
Result<std::string> CgroupToJoin(pid_t pid) {
  const Result<OwnCgroup> own = FindCgroup(pid, kController);
  if (absl::IsUnimplemented(own.status())) return std::string();
  TRIODRILL_RETURN_IF_ERROR(own.status());
  if (own->top) return std::string();
  const std::string door = Cat(own->directory, "/cgroup.procs");
  if (::access(door.c_str(), W_OK) != 0) return ErrnoStatus("write", door);
  return own->directory;
}

class CpuLeak final : public Injector {
 public:
  explicit CpuLeak(std::string program) : helper_(kLeakProgram, kLeakPieces, std::move(program)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const v1::CpuLeak& with = fault.with().cpu_leak();
    if (with.rate() < kLeakPiece || with.most() < kLeakPiece || !(with.reserve() >= 1 && with.reserve() <= 99)) {
      return absl::InvalidArgumentError(
          Cat("prepare ", kKind, ": rate and most are at least 1 MiB, and reserve is 1% to 99%"));
    }
    TRIODRILL_RETURN_IF_ERROR(helper_.Check(kKind));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    const Result<std::string> cgroup = CgroupToJoin(who.pid());
    if (!cgroup.ok()) {
      return absl::FailedPreconditionError(
          Cat("prepare ", kKind, ": the target's memory cgroup cannot be joined: ", cgroup.status().message()));
    }
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<MemoryBound> bounds, ReadMemoryBounds(*cgroup));
    if (const int64_t room = RoomWithin(bounds, with.reserve() / 100); room < kLeakPiece) {
      return absl::ResourceExhaustedError(Cat("prepare ", kKind, ": with a reserve of ", with.reserve(),
                                              "% nothing can be taken (room ", room, " B): lower the reserve"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "memory")));
    v1::LeakPrior& prior = *record.mutable_leak();
    prior.set_token(HelperToken(fault, Cat(who.pid(), "@", who.start_time_ticks())));
    prior.set_cgroup(*cgroup);
    record.set_by_hand(Cat("end every ", kLeakProgram, " with ", TokenArgument(prior.token()), " on its command line"));
    if (process.Ended()) return absl::NotFoundError(Cat("prepare ", kKind, ": ", Describe(who), " has ended"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    // It may have ended since, and its cgroup be another's.
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
    const v1::CpuLeak& with = record.fault().with().cpu_leak();
    LeakOrder order;
    TRIODRILL_ASSIGN_OR_RETURN(order.common, helper_.OrderFor(record, record.leak().token()));
    order.cgroup = record.leak().cgroup();
    order.bytes_per_second = with.rate();
    order.most_bytes = with.most();
    order.reserve = with.reserve() / 100;
    return helper_.Start(order.common, LeakArguments(order));
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    TRIODRILL_RETURN_IF_ERROR(helper_.End(record.leak().token()));
    Step("leak: program ended");
    return Ok();
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: processes do not survive a reboot"};
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, helper_.Find(record.leak().token()));
    if (programs.empty()) return Effect{Presence::kAbsent, Cat("no ", kLeakProgram, " for it")};
    const int64_t written = helper_.Count(programs) * kLeakPiece;
    int64_t resident = 0;
    for (const ProcessHandle& program : programs) {
      resident += ResidentBytes(program.identity().pid()).value_or(0);
    }
    const bool landed = written > 0 && resident >= written;
    const std::string where = record.leak().cgroup().empty() ? "the node" : record.leak().cgroup();
    return Effect{
        landed ? Presence::kPresent : Presence::kAbsent,
        Cat(kLeakProgram, " holds ", resident, " B in memory, of which it has written ", written, " B, in ", where)};
  }

 private:
  const Helper helper_;
};

}  // namespace

std::unique_ptr<Injector> MakeCpuLeak(std::string program) { return std::make_unique<CpuLeak>(std::move(program)); }

v1::Capability ProbeCpuLeak() {
  v1::Capability capability;
  capability.set_kind(kKind);
  const Status found = Helper(kLeakProgram, kLeakPieces, "").Check(kKind);
  const Status readable = found.ok() ? ReadMemoryBounds("").status() : found;
  capability.set_possible(readable.ok());
  capability.set_reason(readable.ok() ? "memory of the node, in the target's cgroup where it has one"
                                      : std::string(readable.message()));
  return capability;
}

}  // namespace triodrill
