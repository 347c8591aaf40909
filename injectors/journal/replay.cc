#include "injectors/catalog.h"
#include "injectors/journal/journal.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"

namespace triodrill {

std::vector<ReplayOutcome> Replay(UndoJournal& journal) {
  SystemClock clock;
  const auto make = [](std::string_view kind) {
    const InjectorRow* row = FindInjector(kind);
    return row == nullptr ? nullptr : row->make();
  };
  return ReplayWith(journal, {make, clock, BootId().value_or("")});
}

}  // namespace triodrill
