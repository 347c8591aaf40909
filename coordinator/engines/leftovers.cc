// What a sandbox that is no more may have left outside of it.
#include <poll.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "coordinator/engines/local_engine.h"
#include "coordinator/os/child_process.h"
#include "coordinator/os/clock.h"
#include "triodrill/text.h"

namespace triodrill::engines {
namespace {

constexpr std::chrono::seconds kUndoWithin{30};
constexpr std::chrono::seconds kLockFreeWithin{3};  // an agent that is just being killed still holds its journal
constexpr int kLookAgainMs = 100;

std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "no message";
  const size_t before = text.rfind('\n', end);
  return before == std::string::npos ? text.substr(0, end + 1) : text.substr(before + 1, end - before);
}

Status Settle(const std::string& undo, const std::string& journal) {
  coordinator::SystemClock clock;
  const TimePoint deadline = clock.Now() + kLockFreeWithin;
  while (true) {
    TRIODRILL_ASSIGN_OR_RETURN(const coordinator::Finished finished,
                               coordinator::RunToEnd({undo, "--journal", journal}, clock, kUndoWithin));
    if (finished.exit_code == 0) return Ok();
    if (clock.Now() >= deadline) {
      return absl::UnavailableError(
          Cat("triodrill-undo ended with ", finished.exit_code, ": ", LastLine(finished.output)));
    }
    poll(nullptr, 0, kLookAgainMs);
  }
}

}  // namespace

Status CleanLeftovers(const Programs& programs, const std::string& state_dir) {
  std::string problems;
  std::error_code error;
  for (std::filesystem::directory_iterator at(state_dir + "/nodes", error), end; !error && at != end;
       at.increment(error)) {
    const std::filesystem::path journal = at->path() / "journal";
    std::error_code missing;
    if (!std::filesystem::is_directory(journal, missing) || std::filesystem::is_empty(journal, missing)) continue;
    const Status settled = Settle(programs.undo, journal.string());
    if (!settled.ok()) Append(problems, problems.empty() ? "" : "; ", journal.string(), ": ", settled.message());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    Append(problems, problems.empty() ? "" : "; ", "list ", state_dir, "/nodes: ", error.message());
  }
  if (problems.empty()) return Ok();
  return absl::UnavailableError(
      Cat("undo what a dead shadow partition left: ", problems, "; run triodrill-undo --journal DIR by hand"));
}

}  // namespace triodrill::engines
