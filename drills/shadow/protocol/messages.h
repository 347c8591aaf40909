// What a trainer and its node's launcher say to each other, and the launcher passes on to the pipeline: one JSON object
// a datagram, over a SOCK_SEQPACKET socket pair that the trainer inherits as descriptor kControlFd. Values and their
// texts; pure.
//
// A trainer obeys orders and reports; it decides nothing. Whose fault something is, and what is done about it, is the
// pipeline's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "triodrill/status.h"

namespace triodrill::shadow {

inline constexpr int kControlFd = 3;             // the trainer's end
inline constexpr size_t kLongestMessage = 8192;  // bytes of one datagram

// Stands for the rank of a trainer that has none yet, on its command line and in its environment (RANK). The trainer
// writes its rank over it, digit by digit, when it gets one: it is as long as a rank may be.
inline constexpr std::string_view kStandbyRank = "standby";

// ---- a trainer says

struct Hello {
  int rank = -1;  // -1: a standby, which gets its rank with its first Join
  int pid = 0;    // in the trainer's own pid namespace
};

// Every `heartbeat` of the policy, from a thread of its own, whatever the training thread is doing.
struct Beat {
  int64_t step = 0;         // steps done; the step being made is step + 1
  std::string phase;        // idle join compute forward reduce verify apply checkpoint halted
  std::string last_line;    // of its log, cut to 200 bytes
  uint64_t sent_bytes = 0;  // by collectives, since it started
  uint64_t received_bytes = 0;
  int64_t compute_ns = 0;  // of the last whole step: its own computing
  int64_t wait_ns = 0;     // of the last whole step: inside collectives
  double gradient_norm = 0;
  double loss = 0;
};

// The collectives of the epoch stand and the state is restored; training goes on from `step`.
struct Joined {
  int epoch = 0;
  int64_t step = 0;    // steps done in the restored state
  std::string source;  // scratch, checkpoint, peers, kept
};

// A collective of the epoch broke, or the join failed. It halts and waits for an order.
struct Failed {
  int epoch = 0;
  int64_t step = 0;
  std::string error;                // gloo's own words
  bool corrupt_checkpoint = false;  // the checkpoint it was told to restore is missing or does not match its checksum
};

struct Saved {
  int64_t step = 0;
  std::string stage;  // host (copied to host memory), durable (on disk, checksummed, renamed, `latest` moved), failed
  std::string problem;
};

// A check for silent data corruption did not hold. It halts before the step is applied and waits for an order; every
// rank that knows says so.
struct Suspect {
  int64_t step = 0;   // the step being made
  std::string check;  // gradient_hash state_hash norm replay peer_replay collective_checksum abft
  int rank = -1;      // whom the check names; -1: nobody (norm)
  std::string detail;
};

// ---- a trainer is told

// Drop the collectives that stand (also while the training thread is stuck in one), build those of `epoch`, restore, go
// on. Every rank of the job gets the same order but for `rank`.
struct Join {
  int epoch = 0;  // grows; a rank never goes back to an earlier one
  int rank = -1;
  int world = 0;
  std::string store;   // directory for the rendezvous of this epoch, the same for all, empty when ordered
  std::string source;  // scratch, checkpoint, peers, kept
  // checkpoint: which. Not looked at otherwise, since what a pipeline knows of a step is a heartbeat old: the ranks
  // tell each other what they hold in memory, which is the last step and the one before. kept goes on from the newest
  // step that all of them hold, peers from the newest of which each shard is held by any rank: the step that stood.
  int64_t step = 0;
  bool verify = true;  // checkpoint: compare its checksum (false only in a planted defect)
};
// Drop the collectives that stand and idle until the next Join: its peers are being repaired.
struct Halt {
  int epoch = 0;
};
// End in good order: exit code 0.
struct Stop {};

using FromTrainer = std::variant<Hello, Beat, Joined, Failed, Saved, Suspect>;
using ToTrainer = std::variant<Join, Halt, Stop>;

std::string Encode(const FromTrainer& message);
std::string Encode(const ToTrainer& message);
// InvalidArgument says what is wrong: no JSON, an unknown type, a field missing or of the wrong type.
Result<FromTrainer> DecodeFromTrainer(std::string_view text);
Result<ToTrainer> DecodeToTrainer(std::string_view text);

}  // namespace triodrill::shadow
