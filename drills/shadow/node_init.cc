#include "drills/shadow/node_init.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "drills/shadow/namespaces.h"
#include "drills/shadow/network.h"
#include "drills/shadow/program_start.h"
#include "drills/shadow/system_clock.h"
#include "drills/shadow/workload_kill.h"

namespace triodrill::shadow {
namespace {

constexpr std::chrono::seconds kStopWithin{10};
constexpr std::chrono::milliseconds kLookAgain{50};

class NodeInit {
 public:
  NodeInit(const NodeSetup& setup, OwnedFd channel) : setup_(setup), channel_(std::move(channel)) {}

  Status Build(int cable) {
    char ready = 0;
    if (read(cable, &ready, 1) != 1) return absl::AbortedError("the outer init is gone");
    TRIODRILL_RETURN_IF_ERROR(SetHostName(setup_.node->name()));
    TRIODRILL_RETURN_IF_ERROR(SetUpMounts(setup_.hosts_file));
    TRIODRILL_ASSIGN_OR_RETURN(Network network, Network::Open());
    TRIODRILL_RETURN_IF_ERROR(network.SetUp("lo"));
    TRIODRILL_RETURN_IF_ERROR(network.AddAddress(std::string(kNodeInterface), setup_.address_with_prefix));
    TRIODRILL_RETURN_IF_ERROR(network.SetUp(std::string(kNodeInterface)));
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, nullptr);
    children_.Reset(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!children_.valid()) return ErrnoStatus("signalfd in the init of", setup_.node->name());
    return Ok();
  }

  void Serve() {
    Say(channel_.get(), Said::kReady, getpid());
    while (true) {
      pollfd look[] = {{channel_.get(), POLLIN, 0}, {children_.get(), POLLIN, 0}};
      if (poll(look, 2, -1) < 0) continue;
      if (look[1].revents != 0) Reap();
      if (look[0].revents == 0) continue;
      const std::optional<Order> order = ReceiveOrder(channel_.get());
      if (!order) return;  // the supervisor is gone
      Obey(*order);
    }
  }

  void Fail(const Status& status) {
    Say(channel_.get(), Said::kFailed, getpid(), Role::kAgent, 0, std::string(status.message()));
  }

 private:
  void Obey(Order order) {
    switch (order) {
      case Order::kStartAgent:
        return Start(Role::kAgent);
      case Order::kStartWorkload:
        return Start(Role::kWorkload);
      case Order::kStopWorkload:
        return StopWorkload();
      case Order::kTerminateAgent:
        return SignalAgent(SIGTERM);
      case Order::kKillAgent:
        return SignalAgent(SIGKILL);
      case Order::kGo:
        return;
    }
  }

  pid_t& PidOf(Role role) { return role == Role::kAgent ? agent_ : workload_; }

  void Start(Role role) {
    const bool agent = role == Role::kAgent;
    if (PidOf(role) != 0) return Say(channel_.get(), Said::kNotStarted, getpid(), role, 0, "it is running already");
    const Result<pid_t> pid = StartProgram(agent ? setup_.node->agent() : setup_.node->workload(),
                                           agent ? setup_.agent_environment : setup_.workload_environment);
    if (!pid.ok())
      return Say(channel_.get(), Said::kNotStarted, getpid(), role, 0, std::string(pid.status().message()));
    PidOf(role) = *pid;
    Say(channel_.get(), Said::kStarted, *pid, role);
  }

  // Not reaped yet, so the pid is still its own.
  void SignalAgent(int signal) {
    if (agent_ == 0) return;
    kill(agent_, signal);
    kill(agent_, SIGCONT);
  }

  void StopWorkload() {
    const TimePoint deadline = clock_.Now() + kStopWithin;
    int alive = 0;
    int clean_looks = 0;
    // Twice clean, because a look is not atomic: a process may fork while /proc is being read.
    while (clean_looks < 2) {
      alive = KillWorkload(agent_);
      clean_looks = alive == 0 ? clean_looks + 1 : 0;
      Reap();
      if (clean_looks > 0) continue;
      if (clock_.Now() >= deadline) break;
      pollfd look{children_.get(), POLLIN, 0};
      poll(&look, 1, static_cast<int>(kLookAgain.count()));  // a grandchild's end is not ours to hear of
    }
    Reap();
    Say(channel_.get(), Said::kWorkloadGone, getpid(), Role::kWorkload, alive);
  }

  void Reap() {
    signalfd_siginfo info;
    while (read(children_.get(), &info, sizeof info) == sizeof info) {
    }
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      for (const Role role : {Role::kAgent, Role::kWorkload}) {
        if (PidOf(role) != pid) continue;
        PidOf(role) = 0;
        Say(channel_.get(), Said::kExited, getpid(), role, status);
      }
    }
  }

  const NodeSetup& setup_;
  OwnedFd channel_;
  OwnedFd children_;
  SystemClock clock_;
  pid_t agent_ = 0;
  pid_t workload_ = 0;
};

}  // namespace

void RunNodeInit(const NodeSetup& setup, OwnedFd channel, OwnedFd cable) {
  NodeInit init(setup, std::move(channel));
  const Status built = init.Build(cable.get());
  if (!built.ok()) {
    init.Fail(built);
    _exit(1);
  }
  init.Serve();
  _exit(0);
}

}  // namespace triodrill::shadow
