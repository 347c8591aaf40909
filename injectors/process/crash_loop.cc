#include "injectors/process/crash_loop.h"

#include <re2/re2.h>

#include <utility>

#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/crash_loop_order.h"
#include "injectors/process/helper.h"
#include "injectors/process/target.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "process.crash_loop";

Status CheckMatches(const std::string& pattern, const ProcessHandle& target) {
  if (pattern.empty()) {
    return absl::InvalidArgumentError(
        Cat("prepare ", kKind, ": no `match`, and the pipeline's profile gives none either; write one"));
  }
  const re2::RE2 match(pattern, re2::RE2::Quiet);
  if (!match.ok())
    return absl::InvalidArgumentError(Cat("prepare ", kKind, ": match '", pattern, "': ", match.error()));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string command, ReadCommandLine(target.identity().pid()));
  if (re2::RE2::PartialMatch(command, match)) return Ok();
  return absl::FailedPreconditionError(Cat("prepare ", kKind, ": match '", pattern, "' does not match the target, '",
                                           command, "'; processes like another's would be killed"));
}

class CrashLoop final : public Injector {
 public:
  explicit CrashLoop(std::string program) : helper_(kCrashLoopProgram, kCrashLoopCount, std::move(program)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_RETURN_IF_ERROR(helper_.Check(kKind));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    const v1::ProcessCrashLoop& with = fault.with().process_crash_loop();
    TRIODRILL_RETURN_IF_ERROR(CheckMatches(with.match(), process));
    if (ToNanos(with.let_live()) < Nanos(0)) {
      return absl::InvalidArgumentError(Cat("prepare ", kKind, ": let_live is negative"));
    }
    TRIODRILL_RETURN_IF_ERROR(process.Signal(0));  // whether we may
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "run-state")));
    v1::CrashLoopPrior& prior = *record.mutable_crash_loop();
    prior.set_token(HelperToken(fault, Cat(who.pid(), "@", who.start_time_ticks())));
    prior.set_match(with.match());
    for (const std::string& pattern : ProtectedCommands()) prior.add_protect(pattern);
    record.set_by_hand(Cat("end every ", kCrashLoopProgram, " with ", TokenArgument(prior.token()),
                           " on its command line; then start the workload's processes anew if nothing else does"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    CrashLoopOrder order;
    TRIODRILL_ASSIGN_OR_RETURN(order.common, helper_.OrderFor(record, record.crash_loop().token()));
    order.target = record.fault().target().process();
    order.match = record.crash_loop().match();
    order.protect = {record.crash_loop().protect().begin(), record.crash_loop().protect().end()};
    order.let_live = ToNanos(record.fault().with().process_crash_loop().let_live());
    return helper_.Start(order.common, CrashLoopArguments(order));
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    TRIODRILL_RETURN_IF_ERROR(helper_.End(record.crash_loop().token()));
    Step("crash loop: program ended");
    return Ok();
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: processes do not survive a reboot"};
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, helper_.Find(record.crash_loop().token()));
    if (programs.empty()) return Effect{Presence::kAbsent, Cat("no ", kCrashLoopProgram, " for it")};
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> target, FindTarget(record, &why));
    const int killed = helper_.Count(programs);
    const bool landed = killed > 0 && !target.has_value();
    return Effect{landed ? Presence::kPresent : Presence::kAbsent,
                  Cat(killed, " killed; ", target.has_value() ? Cat(Describe(target->identity()), " is alive") : why)};
  }

 private:
  const Helper helper_;
};

}  // namespace

std::unique_ptr<Injector> MakeProcessCrashLoop(std::string program) {
  return std::make_unique<CrashLoop>(std::move(program));
}

v1::Capability ProbeProcessCrashLoop() {
  v1::Capability capability;
  capability.set_kind(kKind);
  const Status found = Helper(kCrashLoopProgram, kCrashLoopCount, "").Check(kKind);
  capability.set_possible(found.ok());
  capability.set_reason(found.ok() ? "SIGKILL through pidfds" : std::string(found.message()));
  return capability;
}

}  // namespace triodrill
