#include "injectors/journal/journal.h"
#include "injectors/journal/settle.h"
#include "injectors/os/clock.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

// So that an agent that starts later can say that it is done. Without it the undo is no less done: a trace that cannot
// be left stops nothing.
void LeaveTrace(UndoJournal& journal, const ReplayOutcome& outcome, const std::string& boot_id, v1::Discharged trace) {
  trace.set_shot(outcome.record.fault().shot());
  trace.set_run_id(outcome.record.fault().run_id());
  trace.set_boot_id(boot_id);
  trace.set_wall_ns(WallTime().count());
  trace.set_evidence(outcome.evidence);
  static_cast<void>(journal.Trace(trace));
}

ReplayOutcome ReplayOne(UndoJournal& journal, const UndoJournal::Entry& entry, const ReplayMeans& means) {
  ReplayOutcome outcome;
  outcome.file = entry.file;
  if (!entry.record.ok()) {
    outcome.problem = std::string(entry.record.status().message());
    return outcome;
  }
  outcome.record = *entry.record;
  const std::unique_ptr<Injector> injector = means.make(outcome.record.fault().kind());
  if (injector == nullptr) {
    outcome.problem = Cat("no injector of this program is called '", outcome.record.fault().kind(),
                          "'; use the triodrill-undo of the agent that wrote the record");
    return outcome;
  }
  v1::Discharged trace;
  trace.set_earliest_ns(ToNanos(means.clock.Now()));
  const Settled settled = Settle(*injector, outcome.record);
  trace.set_latest_ns(ToNanos(means.clock.Now()));
  outcome.evidence = settled.evidence;
  outcome.foreign = settled.debt == Debt::kForeign;
  outcome.problem = settled.problem;
  if (settled.debt != Debt::kNone) return outcome;
  LeaveTrace(journal, outcome, means.boot_id, std::move(trace));
  const Status discharged = journal.Discharge(outcome.record.fault().shot());
  outcome.confirmed = discharged.ok();
  if (!discharged.ok()) outcome.problem = std::string(discharged.message());
  return outcome;
}

}  // namespace

std::vector<ReplayOutcome> ReplayWith(UndoJournal& journal, const ReplayMeans& means) {
  std::vector<ReplayOutcome> outcomes;
  for (const UndoJournal::Entry& entry : journal.List()) outcomes.push_back(ReplayOne(journal, entry, means));
  return outcomes;
}

}  // namespace triodrill
