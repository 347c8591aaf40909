#include "drills/shadow/pipeline/trainer_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "drills/shadow/namespaces.h"
#include "triodrill/schema/units.h"
#include "triodrill/text.h"

extern char** environ;

namespace triodrill::shadow::pipeline {
namespace {

constexpr size_t kLongestErrorLine = 500;

std::string RankText(const StartTrainer& order) { return order.rank < 0 ? std::string(kStandbyRank) : Cat(order.rank); }

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void Fail(const char* what) {
  const char* const error = strerrordesc_np(errno);
  for (const char* text : {"triodrill-node: cannot start a program: ", what, ": ", error, "\n"}) {
    const ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
    if (ignored < 0) break;
  }
  _exit(127);
}

// In the child. Never returns.
[[noreturn]] void Become(const Spawning& spawning, char* const* argv, char* const* envp, pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) Fail("parent-death signal");
  if (getppid() != parent) _exit(127);  // it died before we could ask
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (!spawning.error_file.empty()) {
    const int errors = open(spawning.error_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (errors < 0 || dup2(errors, STDERR_FILENO) < 0) Fail("standard error");
  }
  if (spawning.out >= 0 && dup2(spawning.out, STDOUT_FILENO) < 0) Fail("standard output");
  unsigned first_to_close = STDERR_FILENO + 1;
  if (spawning.control == kControlFd) {
    if (fcntl(kControlFd, F_SETFD, 0) != 0) Fail("control socket");
  } else if (spawning.control >= 0 && dup2(spawning.control, kControlFd) < 0) {
    Fail("control socket");
  }
  if (spawning.control >= 0) first_to_close = kControlFd + 1;
  if (syscall(SYS_close_range, first_to_close, ~0U, CLOSE_RANGE_CLOEXEC) != 0) Fail("close descriptors");
  execve(argv[0], argv, envp);
  Fail(argv[0]);
}

}  // namespace

std::string GpuStateFile(const Options& options) { return Cat("gpu-", options.node, ".state"); }
std::string KernelLogFile(const Options& options) { return Cat("kmsg-", options.node, ".log"); }

std::vector<std::string> TrainerArguments(const Options& options, const Config& config, const StartTrainer& order) {
  const v1::ShadowTraining& training = config.policy.spec.training();
  return {"--rank",
          RankText(order),
          "--local-rank",
          Cat(order.slot.local_rank),
          "--world",
          Cat(config.topology.world),
          "--tensor-parallel",
          Cat(config.topology.tensor_parallel),
          "--node",
          options.node,
          "--address",
          options.address,
          "--run-dir",
          options.run_dir,
          "--seed",
          Cat(training.seed()),
          "--step-compute",
          FormatDuration(training.step_compute()),
          "--gpu-state",
          GpuStateFile(options),
          "--gpu",
          Cat(order.slot.local_rank),
          "--checkpoint-every",
          Cat(training.checkpoint_every()),
          "--keep",
          Cat(training.keep()),
          "--heartbeat",
          FormatDuration(training.heartbeat()),
          "--checks",
          order.checks};
}

Result<pid_t> Spawn(const Spawning& spawning) {
  std::vector<std::string> arguments = {spawning.program};
  arguments.insert(arguments.end(), spawning.arguments.begin(), spawning.arguments.end());
  std::vector<std::string> environment = spawning.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=') + 1));
    bool replaced = false;
    for (const std::string& ours : spawning.environment) replaced = replaced || ours.starts_with(name);
    if (!replaced) environment.emplace_back(text);
  }
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus("fork for", spawning.program);
  if (pid == 0) Become(spawning, argv.data(), envp.data(), parent);
  return pid;
}

std::optional<ExitStatus> Reap(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  if (WIFSIGNALED(status)) return ExitStatus{0, WTERMSIG(status)};
  return ExitStatus{WEXITSTATUS(status), 0};
}

LineTail::LineTail(std::string file) : file_(std::move(file)) {
  struct stat facts {};
  if (stat(file_.c_str(), &facts) == 0) offset_ = facts.st_size;
}

std::vector<std::string> LineTail::NewLines() {
  std::vector<std::string> lines;
  const OwnedFd fd(open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[4096];
  ssize_t got;
  while (fd.valid() && (got = pread(fd.get(), bytes, sizeof bytes, offset_)) > 0) {
    offset_ += got;
    rest_.append(bytes, static_cast<size_t>(got));
    for (size_t end; (end = rest_.find('\n')) != std::string::npos;) {
      lines.push_back(rest_.substr(0, std::min(end, kLongestErrorLine)));
      rest_.erase(0, end + 1);
    }
  }
  return lines;
}

Result<TrainerProcess> TrainerProcess::Start(const Options& options, const Config& config, const StartTrainer& order,
                                             const std::string& program) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus("socketpair for", program);
  OwnedFd ours(ends[0]);
  const OwnedFd theirs(ends[1]);
  Spawning spawning;
  spawning.program = program;
  spawning.arguments = TrainerArguments(options, config, order);
  spawning.environment = {Cat("RANK=", RankText(order)), Cat("LOCAL_RANK=", order.slot.local_rank),
                          Cat("WORLD_SIZE=", config.topology.world)};
  spawning.control = theirs.get();
  spawning.error_file = order.rank < 0 ? Cat(options.node, "-standby-", order.slot.local_rank, ".err")
                                       : Cat(options.node, "-", order.rank, ".err");
  LineTail errors(spawning.error_file);
  TRIODRILL_ASSIGN_OR_RETURN(const pid_t pid, Spawn(spawning));
  OwnedFd pidfd(PidfdOpen(pid));
  if (!pidfd.valid()) return ErrnoStatus("pidfd of", program);
  return TrainerProcess(order, pid, std::move(pidfd), std::move(ours), std::move(errors));
}

void TrainerProcess::Tell(const ToTrainer& message) {
  if (const Join* join = std::get_if<Join>(&message)) {
    epoch_ = join->epoch;
    order_.rank = join->rank;  // a standby's first
  }
  control_.Send(Encode(message));
}

void TrainerProcess::Signal(int signal) { PidfdSignal(pidfd_.get(), signal); }

}  // namespace triodrill::shadow::pipeline
