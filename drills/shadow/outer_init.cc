#include "drills/shadow/outer_init.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "drills/shadow/namespaces.h"
#include "drills/shadow/network.h"

namespace triodrill::shadow {
namespace {

constexpr uint64_t kNodeNamespaces = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWPID;

// The supervisor's terminal or pipe is not ours: a reader of it must see its end when the supervisor ends.
void LetGoOfStandardStreams() {
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd < 0) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null_fd, fd);
  if (null_fd > STDERR_FILENO) close(null_fd);
}

Status AddNode(Network& network, const NodeSetup& setup, int index, std::vector<OwnedFd>& channels) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("pipe for node", setup.node->name());
  OwnedFd read_end(ends[0]);
  OwnedFd write_end(ends[1]);
  TRIODRILL_ASSIGN_OR_RETURN(const pid_t init, ForkInto(kNodeNamespaces));
  if (init == 0) {
    write_end.Reset();
    OwnedFd own = std::move(channels[static_cast<size_t>(index)]);
    channels.clear();  // the other nodes'
    RunNodeInit(setup, std::move(own), std::move(read_end));
  }
  channels[static_cast<size_t>(index)].Reset();
  TRIODRILL_RETURN_IF_ERROR(network.AddCable(PortName(index), std::string(kBridge), std::string(kNodeInterface), init));
  if (write(write_end.get(), "+", 1) != 1) return ErrnoStatus("release the init of node", setup.node->name());
  return Ok();
}

Status Build(const SwitchSetup& setup, const OwnedFd& channel, std::vector<OwnedFd>& channels) {
  if (ReceiveOrder(channel.get()) != Order::kGo) return absl::AbortedError("the supervisor is gone");
  TRIODRILL_RETURN_IF_ERROR(DieWithParent(setup.supervisor_pidfd));
  setsid();
  LetGoOfStandardStreams();
  TRIODRILL_ASSIGN_OR_RETURN(Network network, Network::Open());
  TRIODRILL_RETURN_IF_ERROR(network.SetUp("lo"));
  TRIODRILL_RETURN_IF_ERROR(network.AddBridge(std::string(kBridge)));
  for (size_t i = 0; i < setup.nodes.size(); ++i) {
    TRIODRILL_RETURN_IF_ERROR(AddNode(network, setup.nodes[i], static_cast<int>(i), channels));
  }
  return Ok();
}

}  // namespace

void RunOuterInit(const SwitchSetup& setup, OwnedFd channel, std::vector<OwnedFd> channels) {
  const Status built = Build(setup, channel, channels);
  if (!built.ok()) {
    Say(channel.get(), Said::kFailed, getpid(), Role::kAgent, 0, std::string(built.message()));
    _exit(1);
  }
  Say(channel.get(), Said::kReady, getpid());
  while (true) {
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) _exit(0);  // no node is left
  }
}

}  // namespace triodrill::shadow
