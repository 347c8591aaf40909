#include "drills/shadow/trainer/shown_rank.h"

#include <cstdlib>
#include <string_view>

#include "absl/strings/str_format.h"
#include "drills/shadow/protocol/messages.h"

namespace triodrill::shadow::trainer {
namespace {

// From the front, with zeros: what is read meanwhile is no number before its last digit is there.
void WriteOver(char* place, std::string_view digits) {
  volatile char* at = place;
  for (const char digit : digits) *at++ = digit;
}

}  // namespace

ShownRank ShownRank::Find(int argc, char** argv) {
  ShownRank found;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "--rank" && argv[i + 1] == kStandbyRank) found.argument_ = argv[i + 1];
  }
  char* const rank = std::getenv("RANK");
  if (rank != nullptr && rank == kStandbyRank) found.environment_ = rank;
  return found;
}

void ShownRank::Show(int rank) {
  const std::string digits = absl::StrFormat("%0*d", static_cast<int>(kStandbyRank.size()), rank);
  if (digits.size() != kStandbyRank.size()) return;
  // The environment first: an agent reads it of a process whose command line it knows.
  for (char** place : {&environment_, &argument_}) {
    if (*place != nullptr) WriteOver(*place, digits);
    *place = nullptr;
  }
}

}  // namespace triodrill::shadow::trainer
