#include "injectors/catalog.h"
#include "injectors/journal/journal.h"
#include "injectors/journal/settle.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

ReplayOutcome ReplayOne(UndoJournal& journal, const UndoJournal::Entry& entry) {
  ReplayOutcome outcome;
  outcome.file = entry.file;
  if (!entry.record.ok()) {
    outcome.problem = std::string(entry.record.status().message());
    return outcome;
  }
  outcome.record = *entry.record;
  const InjectorRow* row = FindInjector(outcome.record.fault().kind());
  if (row == nullptr) {
    outcome.problem = Cat("no injector of this program is called '", outcome.record.fault().kind(),
                          "'; use the triodrill-undo of the agent that wrote the record");
    return outcome;
  }
  const Settled settled = Settle(*row->make(), outcome.record);
  outcome.evidence = settled.evidence;
  outcome.foreign = settled.debt == Debt::kForeign;
  outcome.problem = settled.problem;
  if (settled.debt != Debt::kNone) return outcome;
  const Status discharged = journal.Discharge(outcome.record.fault().shot());
  outcome.confirmed = discharged.ok();
  if (!discharged.ok()) outcome.problem = std::string(discharged.message());
  return outcome;
}

}  // namespace

std::vector<ReplayOutcome> Replay(UndoJournal& journal) {
  std::vector<ReplayOutcome> outcomes;
  for (const UndoJournal::Entry& entry : journal.List()) outcomes.push_back(ReplayOne(journal, entry));
  return outcomes;
}

}  // namespace triodrill
