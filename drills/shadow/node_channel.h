// What the supervisor and the inits of the sandbox say to each other: fixed messages on a SOCK_SEQPACKET pair, one pair
// an init. Either end closing is the other's death.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "drills/shadow/owned_fd.h"
#include "drills/shadow/plan.h"
#include "triodrill/status.h"

namespace triodrill::shadow {

enum class Order : int {
  kGo,  // to the outer init: the user map is written, build
  kStartAgent,
  kStartWorkload,
  kStopWorkload,    // kill every process of it, answer kWorkloadGone
  kTerminateAgent,  // SIGTERM
  kKillAgent,       // SIGKILL
};

enum class Said : int {
  kReady,         // built; `pid` is the init
  kFailed,        // could not be built; `text`
  kStarted,       // `role`; `pid` is the program
  kNotStarted,    // `role`; `text`
  kExited,        // `role`; `status` as from waitpid
  kWorkloadGone,  // `status` processes are left: 0 unless they would not die in time
};

struct NodeMessage {
  Said said = Said::kReady;
  Role role = Role::kAgent;
  int status = 0;
  char text[232] = {};
};

// Both ends, close-on-exec; `supervisor` is told the sender's pids in its own pid namespace.
struct ChannelPair {
  OwnedFd supervisor;
  OwnedFd init;
};
Result<ChannelPair> MakeChannel();

Status SendOrder(int fd, Order order);
// nullopt when the supervisor is gone. Waits.
std::optional<Order> ReceiveOrder(int fd);

// `pid` in the sender's namespace; the kernel translates it for the receiver, which makes it exact and free of races.
void Say(int fd, Said said, pid_t pid, Role role = Role::kAgent, int status = 0, std::string_view text = "");

struct Heard {
  NodeMessage message;
  pid_t pid = 0;  // in the receiver's namespace
};
// nullopt when the init is gone. Does not wait: call it when poll says there is something.
std::optional<Heard> Hear(int fd);

}  // namespace triodrill::shadow
