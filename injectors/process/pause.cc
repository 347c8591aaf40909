#include "injectors/process/pause.h"

#include <signal.h>

#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/process_identity.h"
#include "injectors/process/run_state.h"
#include "injectors/process/target.h"

namespace triodrill {
namespace {

class ProcessPause final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    const v1::ProcessIdentity& who = process.identity();
    TRIODRILL_ASSIGN_OR_RETURN(const std::string state, CheckRunsFreely(process));
    TRIODRILL_RETURN_IF_ERROR(process.Signal(0));  // whether we may
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, ProcessResource(who, "run-state")));
    record.mutable_process()->set_state(state);
    record.set_by_hand(Cat("kill -CONT ", who.pid(), "  # only if field 22 of /proc/", who.pid(), "/stat is ",
                           who.start_time_ticks()));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(record.fault().target().process()));
    Step("pause: opened");
    TRIODRILL_RETURN_IF_ERROR(process.Signal(SIGSTOP));
    Step("pause: sent");
    return Ok();
  }

  Status Revert(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Ok();
    Step("pause: before continuing");
    return LetRun(process->identity());
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<ProcessHandle> process, FindTarget(record, &why));
    if (!process.has_value()) return Effect{Presence::kAbsent, why};
    TRIODRILL_ASSIGN_OR_RETURN(const RunState state, LookAtRunState(*process));
    if (state.tracer != 0 && state.stopped + state.traced > 0) return Effect{Presence::kForeign, state.Text()};
    return Effect{state.AllStopped() ? Presence::kPresent : Presence::kAbsent, state.Text()};
  }
};

}  // namespace

std::unique_ptr<Injector> MakeProcessPause() { return std::make_unique<ProcessPause>(); }

}  // namespace triodrill
