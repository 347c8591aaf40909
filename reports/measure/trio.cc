#include "reports/measure/trio.h"

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace triodrill {

std::string Name(Naming naming) {
  switch (naming) {
    case Naming::kFaulted:
      return "faulted";
    case Naming::kUnattributed:
      return "unattributed";
    case Naming::kNeighbour:
      return "neighbour";
  }
  return "";
}

std::string Name(Basis basis) {
  switch (basis) {
    case Basis::kOutcome:
      return "outcome";
    case Basis::kReported:
      return "reported";
    case Basis::kUnknown:
      return "unknown";
  }
  return "";
}

std::string Name(Coverage coverage) {
  switch (coverage) {
    case Coverage::kSeen:
      return "seen";
    case Coverage::kNotSeen:
      return "not_seen";
    case Coverage::kNotApplicable:
      return "not_applicable";
  }
  return "";
}

std::string Name(StateAnswer answer) {
  switch (answer) {
    case StateAnswer::kNotApplicable:
      return "not_applicable";
    case StateAnswer::kNotSeen:
      return "not_seen";
    case StateAnswer::kNoReference:
      return "no_reference";
    case StateAnswer::kEqual:
      return "equal";
    case StateAnswer::kDifferent:
      return "different";
  }
  return "";
}

std::string Name(UndoState undo) {
  switch (undo) {
    case UndoState::kConfirmed:
      return "confirmed";
    case UndoState::kNotConfirmed:
      return "not_confirmed";
    case UndoState::kNothingToUndo:
      return "nothing_to_undo";
  }
  return "";
}

std::string Name(v1::Domain domain) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::Domain_Name(domain), "DOMAIN_"));
}

std::string Name(v1::Level level) {
  return level == v1::LEVEL_UNSPECIFIED ? "unknown" : absl::AsciiStrToLower(v1::Level_Name(level));
}

}  // namespace triodrill
