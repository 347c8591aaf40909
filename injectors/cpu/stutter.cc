#include "injectors/cpu/stutter.h"

#include <utility>

#include "injectors/cpu/stutter_order.h"
#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/run_state.h"
#include "injectors/process/target.h"

namespace triodrill {
namespace {

constexpr const char* kStutter = "cpu.stutter";
constexpr const char* kDrift = "environment.drift";

// Short beside a step, and long enough for 1% of it to be a stop that can be seen.
constexpr Nanos kDriftSlice = std::chrono::milliseconds(200);

Result<StutterOrder> HowToBeat(const v1::AimedFault& fault) {
  StutterOrder order;
  order.target = fault.target().process();
  if (fault.kind() == kDrift) {
    const v1::EnvironmentDrift& with = fault.with().environment_drift();
    order.stop = Nanos(static_cast<int64_t>(static_cast<double>(kDriftSlice.count()) * with.amplitude() / 100));
    order.run = kDriftSlice - order.stop;
    order.wave = ToNanos(with.period());
    return order;
  }
  const v1::CpuStutter& with = fault.with().cpu_stutter();
  order.run = ToNanos(with.run());
  order.stop = ToNanos(with.stop());
  if (order.run > Nanos(0) && order.stop > Nanos(0)) return order;
  return absl::InvalidArgumentError("prepare cpu.stutter: run and stop must both be longer than nothing");
}

class StopAndGo final : public Injector {
 public:
  StopAndGo(std::string_view kind, std::string program)
      : kind_(kind), helper_(kStutterProgram, kStutterCycles, std::move(program)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_RETURN_IF_ERROR(HowToBeat(fault).status());
    TRIODRILL_RETURN_IF_ERROR(helper_.Check(kind_));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    TRIODRILL_ASSIGN_OR_RETURN(const std::string state, CheckRunsFreely(process));
    TRIODRILL_RETURN_IF_ERROR(process.Signal(0));  // whether we may
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "run-state")));
    record.mutable_stutter()->set_state(state);
    record.mutable_stutter()->set_token(HelperToken(fault, Cat(who.pid(), "@", who.start_time_ticks())));
    record.set_by_hand(Cat("end every ", kStutterProgram, " with ", TokenArgument(record.stutter().token()),
                           " on its command line, then: kill -CONT ", who.pid(), "  # only if field 22 of /proc/",
                           who.pid(), "/stat is ", who.start_time_ticks()));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(StutterOrder order, HowToBeat(record.fault()));
    TRIODRILL_ASSIGN_OR_RETURN(order.common, helper_.OrderFor(record, record.stutter().token()));
    return helper_.Start(order.common, StutterArguments(order));
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    const Status ended = helper_.End(record.stutter().token());
    Step("stutter: program ended");
    const Status runs = LetRun(record.fault().target().process());
    return ended.ok() ? runs : ended;
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Effect{Presence::kAbsent, why};
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, helper_.Find(record.stutter().token()));
    if (!programs.empty()) {
      const int cycles = helper_.Count(programs);
      return Effect{cycles > 0 ? Presence::kPresent : Presence::kAbsent,
                    Cat("seen stopped and running again ", cycles, cycles == 1 ? " time" : " times")};
    }
    TRIODRILL_ASSIGN_OR_RETURN(const RunState state, LookAtRunState(*process));
    if (state.AnyStop()) return Effect{Presence::kForeign, Cat(state.Text(), ", though nothing of ours stops it")};
    return Effect{Presence::kAbsent, Cat("no ", kStutterProgram, " for it; ", state.Text())};
  }

 private:
  const std::string_view kind_;
  const Helper helper_;
};

}  // namespace

std::unique_ptr<Injector> MakeCpuStutter(std::string program) {
  return std::make_unique<StopAndGo>(kStutter, std::move(program));
}

std::unique_ptr<Injector> MakeProcessDrift(std::string program) {
  return std::make_unique<StopAndGo>(kDrift, std::move(program));
}

v1::Capability ProbeCpuStutter() {
  v1::Capability capability;
  capability.set_kind(kStutter);
  const Status found = Helper(kStutterProgram, kStutterCycles, "").Check(kStutter);
  capability.set_possible(found.ok());
  capability.set_reason(found.ok() ? "SIGSTOP and SIGCONT in turn" : std::string(found.message()));
  return capability;
}

}  // namespace triodrill
