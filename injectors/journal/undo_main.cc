// triodrill-undo: takes back what an agent that died still owes. Alone on a node, without network and without gRPC.
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "injectors/journal/journal.h"
#include "injectors/journal/undo_report.h"
#include "triodrill/exit_code.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

struct Options {
  std::string journal;
  bool list = false;
  bool json = false;
  int guard = -1;
  std::string forget;
};

int Complain(std::string_view what, ExitCode code) {
  std::cerr << "triodrill-undo: " << what << '\n';
  return static_cast<int>(code);
}

int Complain(const Status& status) {
  const bool busy = absl::IsUnavailable(status);
  return Complain(std::string(status.message()), busy ? ExitCode::kUnreachable : ExitCode::kUndoNotConfirmed);
}

int List(const Options& options) {
  const Result<std::vector<UndoJournal::Entry>> entries = ReadJournal(options.journal);
  if (!entries.ok()) return Complain(entries.status());
  std::cout << (options.json ? ListJson(options.journal, *entries) : ListText(options.journal, *entries));
  bool readable = true;
  for (const UndoJournal::Entry& entry : *entries) readable = readable && entry.record.ok();
  return static_cast<int>(readable ? ExitCode::kPassed : ExitCode::kInvalidFile);
}

int ReplayAll(UndoJournal& journal, const Options& options) {
  const std::vector<ReplayOutcome> outcomes = Replay(journal);
  if (options.json) {
    std::cout << ReplayJson(options.journal, outcomes);
  } else {
    std::cout << ConfirmedText(outcomes);
    if (outcomes.empty() && options.guard < 0) std::cout << options.journal << ": nothing is owed\n";
  }
  std::cout.flush();
  std::cerr << UnconfirmedText(options.journal, outcomes);
  return static_cast<int>(AllConfirmed(outcomes) ? ExitCode::kPassed : ExitCode::kUndoNotConfirmed);
}

int Forget(const Options& options) {
  const Result<std::unique_ptr<UndoJournal>> journal = UndoJournal::Open(options.journal);
  if (!journal.ok()) return Complain(journal.status());
  const Status forgotten = (*journal)->Discharge(options.forget);
  if (!forgotten.ok()) return Complain(std::string(forgotten.message()), ExitCode::kUsage);
  std::cout << "forgot " << options.forget << ": nothing was undone by this\n";
  return static_cast<int>(ExitCode::kPassed);
}

// Waits until the agent, which holds the other end of the pipe, is gone, however it went.
int Guard(const Options& options) {
  // What ends the agent is often sent to its children as well; the guardian ends when it has done its work.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  char byte = 0;
  while (true) {
    const ssize_t got = ::read(options.guard, &byte, 1);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) return Complain(ErrnoStatus("read from", Cat("guard pipe ", options.guard)));
  }
  ::close(options.guard);
  const Result<std::unique_ptr<UndoJournal>> journal = UndoJournal::OpenWaiting(options.journal);
  if (!journal.ok()) return Complain(journal.status());
  return ReplayAll(**journal, options);
}

int Run(const Options& options) {
  if (::access(options.journal.c_str(), F_OK) != 0) {
    return Complain(Cat("journal ", options.journal, ": no such directory; nothing was looked at"), ExitCode::kUsage);
  }
  if (options.list) return List(options);
  if (!options.forget.empty()) return Forget(options);
  if (options.guard >= 0) return Guard(options);
  const Result<std::unique_ptr<UndoJournal>> journal = UndoJournal::Open(options.journal);
  if (!journal.ok()) return Complain(journal.status());
  return ReplayAll(**journal, options);
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) {
  triodrill::Options options;
  CLI::App app(
      "Takes back every fault that the undo journal of this node still holds: reverts, looks, and removes the record\n"
      "only once the effect was seen gone. Run it where the agent ran (same user, same namespaces).",
      "triodrill-undo");
  app.footer(
      "Exit: 0 every undo is confirmed (or nothing was owed); 5 one is not: standard error says what to do by hand;\n"
      "64 wrong usage; 65 --list met a record that cannot be read; 69 an agent has the journal in use.");
  app.add_option("--journal", options.journal, "The undo journal's directory")->required()->type_name("DIR");
  CLI::Option* list = app.add_flag("--list", options.list, "Only show what is owed; changes nothing, needs no lock");
  app.add_flag("--json", options.json, "Print one JSON object instead of text");
  CLI::Option* guard =
      app.add_option("--guard", options.guard, "Wait until this open pipe closes (its writer died), then take back")
          ->type_name("FD")
          ->check(CLI::NonNegativeNumber);
  CLI::Option* forget =
      app.add_option("--forget", options.forget, "Remove one record without undoing anything, after you did it by hand")
          ->type_name("SHOT");
  list->excludes(guard)->excludes(forget);
  guard->excludes(forget);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(triodrill::ExitCode::kUsage);
  }
  return triodrill::Run(options);
}
