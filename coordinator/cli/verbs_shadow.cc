// abort, recover, shadow up | down | status: looking after a partition.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/cli/inputs.h"
#include "coordinator/cli/run_lock.h"
#include "coordinator/cli/session.h"
#include "coordinator/cli/verbs.h"
#include "coordinator/engines/local_files.h"
#include "coordinator/os/clock.h"

namespace triodrill::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kAbortWithin{60'000};

ExitCode Fail(const Status& status) {
  PrintError(std::string(status.message()));
  return CodeOf(status);
}

// FailedPrecondition, which is a refusal, while a drill runs there.
Status NobodyRuns(const std::string& state_dir) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::optional<pid_t> holder, RunHolder(state_dir));
  if (!holder) return Ok();
  return absl::FailedPreconditionError(
      absl::StrCat("a drill runs on this partition (process ", *holder, "); hint: `triodrill abort` first"));
}

Json ToTree(const engines::ProgramStatus& program) {
  Json tree{{"running", program.running}, {"pid", program.pid}, {"starts", program.starts}};
  if (program.exit_code) tree["exit_code"] = *program.exit_code;
  return tree;
}

void PrintStatus(const Profiles& profiles, const engines::EngineStatus& status, const std::optional<pid_t>& run,
                 bool json) {
  if (json) {
    Json tree{{"partition", profiles.partition.message.metadata().name()},
              {"state_dir", profiles.state_dir},
              {"up", status.up},
              {"run_pid", run ? Json(*run) : Json()},
              {"nodes", Json::array()}};
    for (const engines::NodeStatus& node : status.nodes) {
      tree["nodes"].push_back({{"name", node.name},
                               {"address", node.address},
                               {"lost", node.lost},
                               {"agent", ToTree(node.agent)},
                               {"workload", ToTree(node.workload)}});
    }
    std::printf("%s\n", tree.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("%s: %s (%s)\n", profiles.partition.message.metadata().name().c_str(),
              status.up ? absl::StrCat("up, supervisor ", status.supervisor_pid).c_str() : "down",
              profiles.state_dir.c_str());
  for (const engines::NodeStatus& node : status.nodes) {
    std::printf("  %-8s %-15s %s agent %s, job %s\n", node.name.c_str(), node.address.c_str(), node.lost ? "LOST" : "",
                node.agent.running ? absl::StrCat("pid ", node.agent.pid).c_str() : "not running",
                node.workload.running ? absl::StrCat("pid ", node.workload.pid).c_str() : "not running");
  }
  if (run) std::printf("  a drill runs on it: process %d\n", *run);
}

// Undo records of a sandbox that is up: its agents replay when they start and revert when the coordinator leaves; what
// they still hold then is what could not be undone.
Result<std::vector<std::string>> AskAgents(const Profiles& profiles, Interrupts& interrupts) {
  coordinator::SystemClock clock;
  Voice voice(clock, true);
  TRIODRILL_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                             Session::Open({profiles.partition.message, profiles.pipeline.message, profiles.programs,
                                            profiles.state_dir, "recover"},
                                           clock, voice, interrupts));
  std::vector<std::string> open;
  for (const auto& [name, node] : session->roster().nodes()) {
    for (const v1::OpenFault& fault : node.hello->open()) {
      open.push_back(absl::StrCat(name, ": ", fault.kind(), " on ", fault.resource(), ": ", fault.problem(),
                                  "; by hand: ", fault.by_hand()));
    }
  }
  return open;
}

}  // namespace

ExitCode Abort(const StateOptions& options) {
  ExitCode code = ExitCode::kInternal;
  const std::optional<Profiles> profiles = LoadProfiles(options.where, code);
  if (!profiles) return code;
  const Result<std::optional<pid_t>> holder = RunHolder(profiles->state_dir);
  if (!holder.ok()) return Fail(holder.status());
  if (!*holder) {
    std::printf("no drill runs on %s\n", profiles->partition.message.metadata().name().c_str());
    return ExitCode::kPassed;
  }
  const Status ended = AbortHolder(profiles->state_dir, **holder, kAbortWithin);
  if (!ended.ok()) return Fail(ended);
  std::printf("the run (process %d) was aborted and has ended; its own exit code says whether everything is undone\n",
              **holder);
  return ExitCode::kPassed;
}

ExitCode Recover(const StateOptions& options, Interrupts& interrupts) {
  ExitCode code = ExitCode::kInternal;
  const std::optional<Profiles> profiles = LoadProfiles(options.where, code);
  if (!profiles) return code;
  if (const Status idle = NobodyRuns(profiles->state_dir); !idle.ok()) return Fail(idle);
  const engines::LocalEngine engine(profiles->programs, profiles->state_dir);
  const Result<engines::EngineStatus> status = engine.GetStatus();
  if (status.ok() && status->up) {
    const Result<std::vector<std::string>> open = AskAgents(*profiles, interrupts);
    if (!open.ok()) return Fail(open.status());
    if (!open->empty()) {
      PrintError(absl::StrCat("not undone:\n  ", absl::StrJoin(*open, "\n  ")));
      return ExitCode::kUndoNotConfirmed;
    }
    std::printf("every agent answers and owes no undo\n");
    return ExitCode::kPassed;
  }
  if (const Status clean = engines::CleanLeftovers(profiles->programs, profiles->state_dir); !clean.ok()) {
    PrintError(std::string(clean.message()));
    return ExitCode::kUndoNotConfirmed;
  }
  std::printf("nothing is up, and no journal owes an undo\n");
  return ExitCode::kPassed;
}

ExitCode ShadowUp(const StateOptions& options) {
  ExitCode code = ExitCode::kInternal;
  const std::optional<Profiles> profiles = LoadProfiles(options.where, code);
  if (!profiles) return code;
  const Result<v1::ShadowSpec> spec = engines::LocalEngine::Spec(
      profiles->partition.message, profiles->pipeline.message, profiles->programs, profiles->state_dir);
  if (!spec.ok()) return Fail(spec.status());
  engines::LocalEngine engine(profiles->programs, profiles->state_dir);
  Status up = engine.Up(*spec, engines::Lifetime::kDetached);
  if (up.ok()) {
    const Result<engines::EngineStatus> status = engine.GetStatus();
    const bool running = status.ok() && std::all_of(status->nodes.begin(), status->nodes.end(),
                                                    [](const auto& node) { return node.workload.running; });
    if (!running) up = engine.RestartWorkload();
  }
  if (!up.ok()) return Fail(up);
  return ShadowStatus(options);
}

ExitCode ShadowDown(const StateOptions& options) {
  ExitCode code = ExitCode::kInternal;
  const std::optional<Profiles> profiles = LoadProfiles(options.where, code);
  if (!profiles) return code;
  if (const Status idle = NobodyRuns(profiles->state_dir); !idle.ok()) return Fail(idle);
  engines::LocalEngine engine(profiles->programs, profiles->state_dir);
  const bool was_up = engines::SandboxHolder(profiles->state_dir).has_value();
  if (const Status down = engine.Down(); !down.ok()) {
    PrintError(std::string(down.message()));
    return ExitCode::kUndoNotConfirmed;
  }
  std::printf("%s: %s nothing is left\n", profiles->partition.message.metadata().name().c_str(),
              was_up ? "down," : "it was not up;");
  return ExitCode::kPassed;
}

ExitCode ShadowStatus(const StateOptions& options) {
  ExitCode code = ExitCode::kInternal;
  const std::optional<Profiles> profiles = LoadProfiles(options.where, code);
  if (!profiles) return code;
  const engines::LocalEngine engine(profiles->programs, profiles->state_dir);
  const Result<engines::EngineStatus> status = engine.GetStatus();
  if (!status.ok()) return Fail(status.status());
  const Result<std::optional<pid_t>> run = RunHolder(profiles->state_dir);
  if (!run.ok()) return Fail(run.status());
  PrintStatus(*profiles, *status, *run, options.json);
  return ExitCode::kPassed;
}

}  // namespace triodrill::cli
