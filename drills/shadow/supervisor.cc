#include "drills/shadow/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>

#include "drills/shadow/namespaces.h"
#include "drills/shadow/plan.h"
#include "drills/shadow/state_files.h"
#include "drills/shadow/system_clock.h"
#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

// One write a line; a reader that has gone is no reason to stop.
void PrintEvent(std::string_view event, std::string_view node, std::optional<int> exit_code) {
  const std::string line = EventLine(event, node, exit_code) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

void PrintError(const Status& status) {
  std::fprintf(stderr, "triodrill-shadow: error: %s\n", std::string(status.message()).c_str());
}

ExitCode CodeOf(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
      return ExitCode::kRefused;
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kInvalidFile;
    case absl::StatusCode::kInternal:
      return ExitCode::kInternal;
    default:
      return ExitCode::kUnreachable;
  }
}

}  // namespace

Supervisor::Supervisor(v1::ShadowSpec spec, std::vector<std::string> environment, SupervisorOptions options,
                       Clock& clock)
    : spec_(spec),
      options_(options),
      clock_(clock),
      sandbox_(std::move(spec), std::move(environment), clock, &PrintEvent) {}

ExitCode Supervisor::Run() {
  Status status = Prepare();
  if (!status.ok()) {  // nothing was built; the lock, if any, is somebody else's, and so are the files
    PrintError(status);
    return CodeOf(status);
  }
  status = BringUp();
  if (status.ok()) {
    PrintEvent("up", "", std::nullopt);
    Serve();
  } else {
    PrintError(status);
  }
  const bool broken = status.ok() && !sandbox_.Alive();
  if (broken) PrintError(absl::UnavailableError("the sandbox's init ended by itself, and every node with it"));
  const Status down = sandbox_.TearDown();
  if (!down.ok()) PrintError(down);
  RemoveStateFiles(spec_.state_dir());
  for (const int client : clients_awaiting_down_) control_->Reply(client, down.ok() ? OkReply() : ErrorReply(down));
  PrintEvent("down", "", std::nullopt);
  if (!down.ok() || broken) return ExitCode::kInternal;
  return status.ok() ? ExitCode::kPassed : CodeOf(status);
}

Status Supervisor::Prepare() {
  TRIODRILL_RETURN_IF_ERROR(CheckSpec(spec_));
  signal(SIGPIPE, SIG_IGN);
  sigset_t asked;
  sigemptyset(&asked);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&asked, number);
  sigprocmask(SIG_BLOCK, &asked, nullptr);
  signals_.Reset(signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return ErrnoStatus("signalfd of", "the supervisor");
  if (options_.parent != 0) {
    parent_.Reset(PidfdOpen(options_.parent));
    // Asked after the pidfd is held: a parent that has gone before shows as another parent now.
    if (!parent_.valid() || getppid() != options_.parent) {
      return absl::AbortedError(Cat("parent process ", options_.parent, " is gone, or is not our parent"));
    }
  }
  TRIODRILL_RETURN_IF_ERROR(CheckStateDir(spec_.state_dir()));
  TRIODRILL_ASSIGN_OR_RETURN(lock_, TakeLock(spec_.state_dir(), clock_));
  return WriteStateFiles(spec_.state_dir(), HostsFile(spec_));
}

Status Supervisor::BringUp() {
  TRIODRILL_RETURN_IF_ERROR(sandbox_.Build());
  // Only now, so that no process of the sandbox inherits it.
  TRIODRILL_ASSIGN_OR_RETURN(ControlSocket control, ControlSocket::Listen(spec_.state_dir() + "/shadow.sock"));
  control_.emplace(std::move(control));
  return options_.start_workload ? sandbox_.StartWorkload() : Ok();
}

bool Supervisor::ToldToGo() {
  signalfd_siginfo info;
  if (read(signals_.get(), &info, sizeof info) == sizeof info) going_ = true;
  if (parent_.valid() && Ended(parent_.get())) going_ = true;
  return going_ || !sandbox_.Alive();
}

void Supervisor::Serve() {
  while (!ToldToGo()) {
    std::vector<pollfd> look = {{signals_.get(), POLLIN, 0}};
    if (parent_.valid()) look.push_back({parent_.get(), POLLIN, 0});
    for (const int fd : sandbox_.Descriptors()) look.push_back({fd, POLLIN, 0});
    for (const int fd : control_->Descriptors()) look.push_back({fd, POLLIN, 0});
    const std::optional<TimePoint> restart = sandbox_.TimeOfNextRestart();
    if (poll(look.data(), look.size(), restart ? PollTimeout(clock_, *restart) : -1) < 0) continue;
    sandbox_.Pump();
    control_->Pump([this](int client, const std::string& line) { Answer(client, line); });
  }
}

void Supervisor::Answer(int client, const std::string& line) {
  const Result<Request> request = ParseRequest(line);
  if (!request.ok()) return control_->Reply(client, ErrorReply(request.status()));
  if (request->action == Action::kDown) {
    clients_awaiting_down_.push_back(client);  // answered once it is so
    going_ = true;
    return;
  }
  if (request->action == Action::kStatus) {
    return control_->Reply(client, StatusReply(spec_, sandbox_.nodes(), getpid(), sandbox_.user_namespace()));
  }
  const Status status = Do(*request);
  control_->Reply(client, status.ok() ? OkReply() : ErrorReply(status));
}

Status Supervisor::Do(const Request& request) {
  switch (request.action) {
    case Action::kStartWorkload:
      return sandbox_.StartWorkload();
    case Action::kStopWorkload:
      return sandbox_.StopWorkload();
    case Action::kRestartAgent:
      return sandbox_.RestartAgent(request.node);
    case Action::kKillAgent:
      return sandbox_.KillAgent(request.node, request.stay_down);
    case Action::kStatus:
    case Action::kDown:
      break;
  }
  return absl::InternalError("request not handled");
}

}  // namespace triodrill::shadow
