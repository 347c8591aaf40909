// What triodrill-undo says. Pure: text and JSON from records and outcomes.
#pragma once

#include <string>
#include <vector>

#include "injectors/journal/journal.h"

namespace triodrill {

// For people, one block a record; says so if there is none.
std::string ListText(const std::string& directory, const std::vector<UndoJournal::Entry>& entries);
// {"journal": …, "records": [{"file", "problem", "record"}]}
std::string ListJson(const std::string& directory, const std::vector<UndoJournal::Entry>& entries);

// One line a record that is settled (for stdout), and a block with the by-hand command for each that is not (for
// stderr).
std::string ConfirmedText(const std::vector<ReplayOutcome>& outcomes);
std::string UnconfirmedText(const std::string& directory, const std::vector<ReplayOutcome>& outcomes);
// {"journal": …, "outcomes": [{"file", "shot", "kind", "resource", "confirmed", "foreign", "evidence", "problem",
// "by_hand"}]}
std::string ReplayJson(const std::string& directory, const std::vector<ReplayOutcome>& outcomes);

bool AllConfirmed(const std::vector<ReplayOutcome>& outcomes);

}  // namespace triodrill
