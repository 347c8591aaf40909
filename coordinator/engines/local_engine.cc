#include "coordinator/engines/local_engine.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "absl/cleanup/cleanup.h"
#include "coordinator/engines/local_files.h"
#include "coordinator/engines/shadow_client.h"
#include "coordinator/engines/shadow_gpus.h"
#include "coordinator/engines/state_dir.h"
#include "coordinator/os/child_process.h"
#include "coordinator/os/clock.h"
#include "google/protobuf/util/message_differencer.h"
#include "triodrill/exit_code.h"
#include "triodrill/text.h"

namespace triodrill::engines {
namespace {

constexpr std::chrono::seconds kUpWithin{45};  // the sandbox's own bounds end before
constexpr std::chrono::seconds kAnswerWithin{30};
constexpr std::chrono::seconds kDownWithin{25};  // 3 s of grace and 20 s for the kernel are its own bounds
constexpr int kLookAgainMs = 20;
constexpr std::chrono::seconds kEndWithin{5};

std::string LastLines(const std::string& file) {
  constexpr size_t kMost = 2000;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream whole;
  whole << in.rdbuf();  // unlike the stream's iterators it does not throw where a read fails
  std::string text = whole.str();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.size() > kMost ? text.substr(text.size() - kMost) : text;
}

Status FromExit(int exit_code, const std::string& said) {
  const std::string message =
      Cat("shadow partition: ", said.empty() ? Cat("ended with ", exit_code, " and no message") : said);
  switch (exit_code) {
    case static_cast<int>(ExitCode::kRefused):
      return absl::FailedPreconditionError(message);
    case static_cast<int>(ExitCode::kInvalidFile):
    case static_cast<int>(ExitCode::kUsage):
      return absl::InvalidArgumentError(message);
    case static_cast<int>(ExitCode::kInternal):
      return absl::InternalError(message);
    default:
      return absl::UnavailableError(message);
  }
}

int PidfdOpen(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// The init of the sandbox is the supervisor's one child. Its end is reported only after that of all its processes.
int OpenSandboxInit(pid_t supervisor) {
  std::ifstream in(Cat("/proc/", supervisor, "/task/", supervisor, "/children"));
  pid_t init = 0;
  in >> init;
  return in.fail() ? -1 : PidfdOpen(init);
}

// Asks it to go down; one that does not listen yet is told by a signal, one that does not answer is killed, and the
// kernel then ends all that it kept.
Status EndSupervisor(pid_t supervisor, const std::string& state_dir) {
  const int pidfd = PidfdOpen(supervisor);
  if (pidfd < 0) return errno == ESRCH ? Ok() : ErrnoStatus("pidfd_open", Cat("supervisor ", supervisor));
  const absl::Cleanup close_pidfd = [pidfd] { close(pidfd); };
  coordinator::SystemClock clock;
  const TimePoint deadline = clock.Now() + kDownWithin;
  const Result<std::string> reply = Ask(ShadowSocket(state_dir), RequestLine("down"), clock, kDownWithin);
  if (!reply.ok()) syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, nullptr, 0);
  if (coordinator::AwaitReadable(pidfd, clock, deadline)) return Ok();
  const int init = OpenSandboxInit(supervisor);
  const absl::Cleanup close_init = [init] {
    if (init >= 0) close(init);
  };
  syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
  const TimePoint end = clock.Now() + kEndWithin;
  if (coordinator::AwaitReadable(pidfd, clock, end) && (init < 0 || coordinator::AwaitReadable(init, clock, end)))
    return Ok();
  return absl::UnavailableError(
      Cat("shadow partition: supervisor pid ", supervisor, " does not end; look at /proc/", supervisor, "/stack"));
}

// A node without its init cannot be mended, and a job that goes on without it is not to be stopped for it.
Status NobodyLost(const EngineStatus& status) {
  std::string lost;
  for (const NodeStatus& node : status.nodes) {
    if (node.lost) Append(lost, lost.empty() ? "" : ", ", node.name);
  }
  if (lost.empty()) return Ok();
  return absl::UnavailableError(
      Cat("shadow partition: lost for good: ", lost,
          "; what still runs is left alone; take it down and up again with `triodrill shadow`"));
}

}  // namespace

LocalEngine::LocalEngine(Programs programs, std::string state_dir)
    : programs_(std::move(programs)), state_dir_(std::move(state_dir)) {}

LocalEngine::~LocalEngine() = default;

Result<EngineStatus> LocalEngine::GetStatus() const {
  coordinator::SystemClock clock;
  const Result<std::string> reply = Ask(ShadowSocket(state_dir_), RequestLine("status"), clock, kAnswerWithin);
  if (absl::IsNotFound(reply.status())) return EngineStatus{};
  if (!reply.ok()) return reply.status();
  return ParseStatus(*reply);
}

Status LocalEngine::Up(const v1::ShadowSpec& spec, Lifetime lifetime) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::unique_ptr<PartitionLock> alone, PartitionLock::TakeForUp(state_dir_));
  TRIODRILL_ASSIGN_OR_RETURN(const EngineStatus found, GetStatus());
  attached_ = found.up;
  if (found.up) {
    if (google::protobuf::util::MessageDifferencer::Equals(found.spec, spec)) return NobodyLost(found);
    return absl::FailedPreconditionError(Cat("a shadow partition of another make is up on ", state_dir_,
                                             " (supervisor pid ", found.supervisor_pid,
                                             "); take it down with `triodrill shadow down` first"));
  }
  TRIODRILL_RETURN_IF_ERROR(CleanLeftovers(programs_, state_dir_));
  TRIODRILL_RETURN_IF_ERROR(WriteLocalFiles(spec, state_dir_));
  TRIODRILL_RETURN_IF_ERROR(MakeShadowGpus(programs_, spec, state_dir_));
  return Spawn(SpecFile(state_dir_), lifetime);
}

Status LocalEngine::Spawn(const std::string& spec_file, Lifetime lifetime) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("pipe for", programs_.shadow);
  const absl::Cleanup close_read_end = [&] { close(ends[0]); };
  std::vector<std::string> argv = {programs_.shadow, "up", "--spec", spec_file};
  if (lifetime == Lifetime::kWithUs) argv.insert(argv.end(), {"--die-with-parent", std::to_string(getpid())});
  const std::string log = state_dir_ + "/shadow.log";
  unlink(log.c_str());
  const Result<pid_t> child = coordinator::Spawn(argv, ends[1], log);
  close(ends[1]);
  if (!child.ok()) return child.status();
  child_ = *child;
  coordinator::SystemClock clock;
  const TimePoint deadline = clock.Now() + kUpWithin;
  std::string said;
  char bytes[512];
  while (coordinator::AwaitReadable(ends[0], clock, deadline)) {
    const ssize_t got = read(ends[0], bytes, sizeof bytes);
    if (got <= 0) break;  // it has ended
    said.append(bytes, static_cast<size_t>(got));
    if (said.find("{\"event\":\"up\"}") != std::string::npos) return Ok();
  }
  child_ = 0;
  const Result<int> exit_code = coordinator::AwaitExit(*child, clock, std::min(deadline, clock.Now() + kEndWithin));
  if (!exit_code.ok())
    return absl::UnavailableError(
        Cat("shadow partition: not ready in time; ", exit_code.status().message(), "; see ", log));
  return FromExit(*exit_code, LastLines(log));
}

Status LocalEngine::StartWorkload() { return Order("start-workload", ""); }
Status LocalEngine::StopWorkload() { return Order("stop-workload", ""); }
Status LocalEngine::RestartWorkload() {
  TRIODRILL_RETURN_IF_ERROR(StopWorkload());
  return StartWorkload();
}
Status LocalEngine::RestartAgent(const std::string& node) { return Order("restart-agent", node); }
Status LocalEngine::KillAgent(const std::string& node, bool stay_down) { return Order("kill-agent", node, stay_down); }

Status LocalEngine::Order(const std::string& verb, const std::string& node, bool stay_down) {
  coordinator::SystemClock clock;
  const Result<std::string> reply =
      Ask(ShadowSocket(state_dir_), RequestLine(verb, node, stay_down), clock, kAnswerWithin);
  if (absl::IsNotFound(reply.status()))
    return absl::UnavailableError(Cat(verb, ": no shadow partition is up on ", state_dir_));
  if (!reply.ok()) return reply.status();
  return CheckReply(*reply);
}

Status LocalEngine::Down() {
  coordinator::SystemClock clock;
  const pid_t supervisor = SandboxHolder(state_dir_).value_or(0);
  const Status ended = supervisor != 0 ? EndSupervisor(supervisor, state_dir_) : Ok();
  if (child_ != 0 && ended.ok()) {
    coordinator::AwaitExit(child_, clock, clock.Now() + kEndWithin).IgnoreError();
    child_ = 0;
  }
  // No answer is no proof: the lock is free only when the last init of the sandbox is gone.
  const TimePoint deadline = clock.Now() + kEndWithin;
  while (SandboxHolder(state_dir_).has_value()) {
    if (clock.Now() >= deadline) {
      return ended.ok() ? absl::UnavailableError(
                              Cat("shadow partition: processes of it still hold ", state_dir_, "/shadow.lock"))
                        : ended;
    }
    poll(nullptr, 0, kLookAgainMs);
  }
  return CleanLeftovers(programs_, state_dir_);
}

}  // namespace triodrill::engines
