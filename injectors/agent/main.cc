// triodrilld: the node agent. Nothing listens; it dials one coordinator on a Unix socket.
#include <signal.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "injectors/agent/agent.h"
#include "injectors/agent/guardian.h"
#include "injectors/agent/policy.h"
#include "injectors/catalog.h"
#include "injectors/gpu/kernel_log.h"
#include "injectors/gpu/nvml.h"
#include "injectors/link/taken_links.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/process/target.h"
#include "triodrill/exit_code.h"
#include "triodrill/text.h"

#ifndef TRIODRILL_VERSION
#define TRIODRILL_VERSION "0.1.0"
#endif

namespace triodrill::agent {
namespace {

// An earlier agent's guardian may still be at work on the journal.
constexpr Nanos kPatienceForJournal = std::chrono::seconds(15);
constexpr Nanos kPatienceForGuardian = std::chrono::seconds(5);

struct Options {
  std::string node;
  std::string coordinator;
  std::string state_directory;
  std::string policy;
  std::string undo_program;
  std::string nvml = NvmlLibrary();
  std::string kernel_log = KernelLog();
  std::string log_level = "info";
};

int Complain(const Status& status, ExitCode code) {
  std::cerr << "triodrilld: error: " << status.message() << '\n';
  return static_cast<int>(code);
}

Result<std::string> UndoProgramBesideUs() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0) return ErrnoStatus("read", "/proc/self/exe");
  const std::string own(path, static_cast<size_t>(size));
  return own.substr(0, own.rfind('/')) + "/triodrill-undo";
}

Result<std::unique_ptr<UndoJournal>> OpenJournal(const std::string& state_directory) {
  if (mkdir(state_directory.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus("make", state_directory);
  Result<std::unique_ptr<UndoJournal>> journal = absl::UnavailableError("");
  LookUntil(kPatienceForJournal, [&journal, &state_directory] {
    journal = UndoJournal::Open(state_directory + "/journal");
    return !absl::IsUnavailable(journal.status());
  });
  return journal;
}

std::vector<v1::Capability> Capabilities() {
  std::vector<v1::Capability> capabilities;
  for (const InjectorRow& row : Catalog()) {
    v1::Capability capability = row.probe();
    capability.set_kind(std::string(row.kind));
    capabilities.push_back(std::move(capability));
  }
  return capabilities;
}

std::unique_ptr<Injector> MakeFromCatalog(std::string_view kind) {
  const InjectorRow* row = FindInjector(kind);
  return row == nullptr ? nullptr : row->make();
}

// Until somebody wants us to end. A guardian that died is replaced.
void WaitForTheEnd(const sigset_t& signals, Guardian& guardian, const std::string& program,
                   const std::string& journal) {
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (signal != SIGCHLD) return;
    if (guardian.Alive()) continue;
    spdlog::error("the guardian, pid {}, has ended; starting another", guardian.pid());
    Result<Guardian> another = Guardian::Start(program, journal);
    if (another.ok()) {
      guardian = *std::move(another);
    } else {
      // Without it a fault could outlive us: better no agent than one without this net.
      spdlog::error("{}; shutting down", std::string(another.status().message()));
      return;
    }
  }
}

Result<bool> Serve(const Options& options, const v1::AgentPolicySpec& policy, const sigset_t& signals,
                   SystemClock& clock) {
  TRIODRILL_ASSIGN_OR_RETURN(Protection protection, Protection::Of(policy));
  SetNvmlLibrary(options.nvml);
  SetKernelLog(options.kernel_log);
  SetProtectedInterfaces({policy.protect_interfaces().begin(), policy.protect_interfaces().end()});
  SetProtectedCommands({policy.protect_commands().begin(), policy.protect_commands().end()});
  TRIODRILL_ASSIGN_OR_RETURN(std::unique_ptr<UndoJournal> journal, OpenJournal(options.state_directory));
  const std::string journal_directory = options.state_directory + "/journal";
  // Before any thread is there, and before anything is replayed.
  TRIODRILL_ASSIGN_OR_RETURN(Guardian guardian, Guardian::Start(options.undo_program, journal_directory));
  Settings settings{.node = options.node,
                    .version = TRIODRILL_VERSION,
                    .boot_id = "",
                    .policy = policy,
                    .capabilities = Capabilities(),
                    .patience = {}};
  TRIODRILL_ASSIGN_OR_RETURN(settings.boot_id, BootId());
  Result<std::vector<v1::Discharged>> traces = ReadTraces(journal_directory);
  Replayed replayed = ReplayNow(*journal, clock);
  if (traces.ok()) replayed.traces = *std::move(traces);  // without them a shot is "not known", and that is true
  AgentParts parts{.settings = std::move(settings),
                   .coordinator = options.coordinator,
                   .clock = clock,
                   .journal = *journal,
                   .replayed = std::move(replayed),
                   .make = &MakeFromCatalog,
                   .protect = [&protection](const v1::AimedFault& fault) { return protection.Check(fault); },
                   .real_time = true};
  TRIODRILL_ASSIGN_OR_RETURN(std::unique_ptr<Agent> agent, Agent::Start(std::move(parts)));
  spdlog::info("node {}: dialling {}; guardian is pid {}", options.node, options.coordinator, guardian.pid());
  WaitForTheEnd(signals, guardian, options.undo_program, journal_directory);
  spdlog::info("ending: reverting what is open");
  const bool confirmed = agent->ShutDown();
  agent = nullptr;
  journal = nullptr;
  guardian.Dismiss(kPatienceForGuardian);
  return confirmed;
}

// A reader of standard error that does not read must not keep a fault from being reverted: lines are written by a
// thread of their own, and the oldest are dropped.
void StartLogging(const std::string& level) {
  constexpr size_t kMostLines = 1024;
  spdlog::init_thread_pool(kMostLines, 1);
  spdlog::set_default_logger(spdlog::create_async_nb<spdlog::sinks::stderr_sink_mt>("triodrilld"));
  spdlog::set_level(spdlog::level::from_str(level));
  spdlog::flush_on(spdlog::level::info);
}

int Run(Options options) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, one);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // all threads to come inherit it
  signal(SIGPIPE, SIG_IGN);
  StartLogging(options.log_level);

  const Result<v1::AgentPolicySpec> policy = LoadPolicy(options.policy);
  if (!policy.ok()) return Complain(policy.status(), ExitCode::kInvalidFile);
  if (options.undo_program.empty()) {
    Result<std::string> beside = UndoProgramBesideUs();
    if (!beside.ok()) return Complain(beside.status(), ExitCode::kInternal);
    options.undo_program = *std::move(beside);
  }
  SystemClock clock;
  const Result<bool> confirmed = Serve(options, *policy, signals, clock);
  if (!confirmed.ok()) {
    const bool usage = absl::IsInvalidArgument(confirmed.status());
    return Complain(confirmed.status(), usage ? ExitCode::kUsage : ExitCode::kInternal);
  }
  if (*confirmed) return static_cast<int>(ExitCode::kPassed);
  return Complain(absl::InternalError(Cat("an undo is not confirmed; next: triodrill-undo --journal ",
                                          options.state_directory, "/journal --list")),
                  ExitCode::kUndoNotConfirmed);
}

}  // namespace
}  // namespace triodrill::agent

int main(int argc, char** argv) {
  triodrill::agent::Options options;
  CLI::App app(
      "The node agent: breaks what a coordinator asks for and this node's policy allows, and always takes it back.\n"
      "It dials; nothing listens on the node. On SIGTERM it reverts everything that is open, and confirms it.",
      "triodrilld");
  app.footer(
      "Exit: 0 everything is undone; 5 an undo is not confirmed: standard error says what to do; 64 wrong usage;\n"
      "65 the policy file is invalid or others may write it; 70 anything else.");
  app.add_option("--node", options.node, "This node's name in the partition")->required()->type_name("NAME");
  app.add_option("--coordinator", options.coordinator, "Socket to dial: unix:/absolute/path")
      ->required()
      ->type_name("TARGET");
  app.add_option("--state-dir", options.state_directory, "Directory of our own; the undo journal is journal/ in it")
      ->required()
      ->type_name("DIR");
  app.add_option("--policy", options.policy, "This node's AgentPolicy")->required()->type_name("FILE");
  app.add_option("--undo-program", options.undo_program, "The guardian (default: triodrill-undo beside this program)")
      ->type_name("FILE");
  app.add_option("--nvml", options.nvml,
                 "NVML, for the faults on GPUs; loaded only if one is asked for, or to say why not")
      ->type_name("LIBRARY")
      ->capture_default_str();
  app.add_option("--kmsg", options.kernel_log,
                 "The kernel log that gpu.xid writes to: the device, or a file that is there")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.set_version_flag("--version", "triodrilld " TRIODRILL_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(triodrill::ExitCode::kUsage);
  }
  const int code = triodrill::agent::Run(std::move(options));
  spdlog::shutdown();  // the last lines are written
  return code;
}
