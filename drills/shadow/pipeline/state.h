// What the pipeline's core knows. A value; only the core changes it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "triodrill/slot.h"
#include "triodrill/time.h"

namespace triodrill::shadow::pipeline {

enum class Fault { kDead, kSilent, kHung, kStraggler, kSdc, kNodeLost, kGpuError };
enum class Level { kProcess, kGpu, kNode, kGroup, kJob };

// The process in a slot, as far as is known.
struct Trainer {
  int incarnation = 0;  // 0: there is none
  int rank = -1;        // of a standby: none
  bool hello = false;   // it has spoken
  bool ready = false;   // a standby: it was said to be ready
  bool closed = false;
  bool exited = false;
  bool killed = false;   // by our order: its end is no fault
  bool lingers = false;  // it was killed and its end was not seen: the slot is not free
  std::string end;       // how it ended, in words
  TimePoint started_at;
  TimePoint last_beat;
  TimePoint log_at;      // when its log last grew
  TimePoint traffic_at;  // when its collectives last moved a byte
  TimePoint error_at;    // when it last wrote to standard error in this epoch
  TimePoint failed_at;   // when it reported a broken collective of this epoch
  int64_t step = -1;
  uint64_t bytes = 0;
  std::string phase;
  std::string last_line;
  std::string error_line;
  std::string failure;
  std::string fatal_xid;  // the driver's line about its GPU
  int joined_epoch = 0;
  std::string suspected_by;  // said so already
  // One value for each step that a heartbeat told of, the newest last.
  std::deque<int64_t> compute_ns;
  std::deque<int64_t> wait_ns;
  double all_compute_ns = 0;  // since it joined
  int steps_seen = 0;
  int slow_for = 0;  // steps for which it has been slower than the others

  bool Lives() const { return incarnation != 0 && !exited; }
};

enum class Service { kServing, kSpare, kIsolated };

struct SlotState {
  Service service = Service::kServing;
  Trainer trainer;
  TimePoint isolated_at;
  std::deque<TimePoint> restarts;  // in place
  std::deque<TimePoint> standbys;  // started here
  int return_check = 0;            // id of the health check under way, 0: none
  int suspects = 0;                // of silent corruption, ever
};

struct NodeState {
  bool known = false;  // it has said hello
  bool connected = false;
  TimePoint gone_at;
  int probe_port = 0;
  uint64_t interface_bytes = 0;
  TimePoint interface_at;  // when those last moved
  int warm_check = 0;      // id of the check made while a standby waits, 0: none
  TimePoint warm_check_at;
  std::optional<TimePoint> well_at;  // when the last such check that passed was ordered
};

struct Finding {
  Fault fault = Fault::kDead;
  std::string node;  // empty: names nobody
  int rank = -1;     // -1: the node as a whole
  std::string by;
  std::string detail;
};

// One check that a node was told to make.
struct CheckState {
  std::string node;
  TimePoint deadline;
  bool done = false;
  bool ok = false;
  std::string detail;
  std::vector<std::string> unreachable;
  size_t peers = 0;  // that it was to reach
  bool gpu_sick = false;
};

struct SelfCheckState {
  std::string why;
  int round = 0;  // 0: loop-back and links; 1, 2: all-gather over pairs
  std::map<int, CheckState> checks;
  std::vector<std::pair<std::string, std::string>> pairs;   // of the round
  std::vector<std::pair<int, int>> pair_checks;             // ids of the two halves
  std::vector<std::pair<std::string, std::string>> failed;  // of round 1
  std::set<std::string> bad;
  std::string detail;
};

struct Suspicion {
  int64_t step = -1;
  TimePoint since;
  std::string check;
  int named = -1;
  std::string detail;
  int reporters = 0;
};

enum class Stage {
  kAssemble,   // waiting for launchers
  kRun,        // training
  kSelfCheck,  // ranks are halted, nodes check themselves
  kConfirm,    // waiting for a person's word
  kKill,       // waiting for the ends of trainers that were killed
  kReplace,    // finding slots for ranks that have none
  kStart,      // waiting for the hello of trainers that were started
  kRestore,    // choosing the state to go on from
  kJoin,       // waiting for every rank to have joined
  kGaveUp,
  kStopping,
};

struct Verdict {
  Finding finding;
  Level level = Level::kGpu;
  std::string group;  // level group: which
};

// What is being repaired, from the detection to the restored state.
struct Case {
  bool open = false;
  std::vector<Verdict> verdicts;  // found, not yet carried out
  bool confirmed = false;
  bool rollback_only = false;  // a state is in doubt, or was left behind, or peers failed: peers are no source
  bool self_checked = false;
  bool awaiting_spare = false;
  int reading = 0;  // the request that is under way; 0: none
  TimePoint reading_since;
  std::optional<std::vector<int64_t>> checkpoints;
  std::set<int64_t> corrupt;
  bool wait_set = false;
  TimePoint not_before;
  int joins = 0;
  bool join_broken = false;
  TimePoint join_broken_at;
  std::string join_error;
  std::map<Slot, int> health;  // id in State::checks
  bool rendezvous_closed = false;
  std::map<int, std::string> left;  // rank -> the slot that it had to leave
  std::set<int> replaced;           // ranks
  std::optional<Slot> restarted;    // in place
};

struct State {
  Stage stage = Stage::kAssemble;
  TimePoint since;  // of the stage
  TimePoint last_tick;
  TimePoint deaf_until;  // after a gap of our own nothing is held against anybody
  std::map<std::string, NodeState> nodes;
  std::map<Slot, SlotState> slots;
  std::vector<Slot> placement;  // of each rank; a slot without node: none
  int epoch = 0;
  int whole_epoch = 0;  // the last one that every rank joined
  int next_incarnation = 1;
  int next_check = 1;
  int next_reading = 1;
  int64_t progress_step = -1;
  TimePoint progress_at;
  int64_t restored_step = -1;
  bool resumed = true;
  TimePoint failed_at;  // first report of a broken collective in this epoch
  bool failed = false;
  std::map<int, CheckState> checks;  // of health
  SelfCheckState self_check;
  std::optional<Suspicion> suspicion;
  Case repair;
  std::deque<TimePoint> recoveries;
  std::string restored_from;
  int64_t restore_step = 0;
};

}  // namespace triodrill::shadow::pipeline
