// What a node's launcher and the pipeline say to each other: one JSON object a datagram over RUN_DIR/pipeline.sock
// (SOCK_SEQPACKET). Values and their texts; pure.
//
// An incarnation names one trainer process for good: the pipeline gives the number with the order to start it, and the
// launcher repeats it in all that it says about it. What is said of another incarnation than the present one is old.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drills/shadow/protocol/messages.h"
#include "triodrill/slot.h"
#include "triodrill/status.h"

namespace triodrill::shadow::pipeline {

inline constexpr size_t kLongestNodeMessage = 4 * kLongestMessage;

// ---- a launcher says

struct RunningTrainer {
  int slot = 0;
  int incarnation = 0;
  int rank = -1;
  int epoch = 0;  // of the last Join that was passed on
};

// The first word on a connection. It tells what is there now, so that a pipeline that was started again knows.
struct NodeHello {
  std::string node;
  int slots = 0;
  std::string address;
  bool spare = false;
  int probe_port = 0;  // where it listens for the link check of others
  std::vector<RunningTrainer> trainers;
};
struct Said {
  Slot slot;
  int incarnation = 0;
  FromTrainer message;
};
struct Started {
  Slot slot;
  int incarnation = 0;
  int pid = 0;          // 0: it could not be started
  std::string problem;  // why
};
// Its end of the control socket is closed.
struct Closed {
  Slot slot;
  int incarnation = 0;
};
struct Exited {
  Slot slot;
  int incarnation = 0;
  int code = 0;    // of exit, if signal is 0
  int signal = 0;  // that killed it
};
// It wrote to standard error.
struct ErrorLine {
  Slot slot;
  int incarnation = 0;
  std::string line;
};
// Several times a second.
struct NodeReport {
  std::string node;
  uint64_t received_bytes = 0;  // of the data network's interface
  uint64_t sent_bytes = 0;
  std::vector<int64_t> log_age_ms;  // of each slot's log, -1: none
};
struct CheckDone {
  int id = 0;
  std::string node;
  bool ok = false;
  std::string detail;
  std::vector<std::string> unreachable;  // nodes that did not answer
  bool gpu_sick = false;                 // it is the GPU that was to be looked at, not the node
};
// The driver's line in the node's kernel log about the GPU of a slot.
struct XidSeen {
  Slot slot;
  int xid = 0;
  std::string line;
};

// ---- a launcher is told

struct StartTrainer {
  Slot slot;
  int incarnation = 0;
  int rank = -1;  // -1: a standby, which gets its rank with its first Join
  std::string checks;
};
struct KillTrainer {  // SIGKILL
  Slot slot;
  int incarnation = 0;
};
struct Tell {
  Slot slot;
  int incarnation = 0;
  ToTrainer message;
};
struct Peer {
  std::string node;
  std::string address;
  int port = 0;
};
struct RunCheck {
  int id = 0;
  std::string kind;         // node: loop-back and links to `peers`; gather: all-gather with one other node
  std::vector<Peer> peers;  // node
  int rank = 0;             // gather: 0 or 1
  std::string store;        // gather: directory of the rendezvous
  int gpu = -1;             // node: of the slot with this number the GPU, too; -1: none
};
// Ends every trainer in good order, and then the launcher.
struct StopNode {};

using FromNode = std::variant<NodeHello, Said, Started, Closed, Exited, ErrorLine, NodeReport, CheckDone, XidSeen>;
using ToNode = std::variant<StartTrainer, KillTrainer, Tell, RunCheck, StopNode>;

std::string Encode(const FromNode& message);
std::string Encode(const ToNode& message);
Result<FromNode> DecodeFromNode(std::string_view text);
Result<ToNode> DecodeToNode(std::string_view text);

}  // namespace triodrill::shadow::pipeline
