// The reference pipeline's decisions: detection, self-check, isolation, replacement, recovery. Pure: Step takes the
// state, what has happened and the time, and gives the new state and what is to be done. Sockets, files and processes
// are the shell's (server.h). Policy and topology are values.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "drills/shadow/pipeline/node_messages.h"
#include "drills/shadow/pipeline/policy.h"
#include "drills/shadow/pipeline/state.h"
#include "drills/shadow/pipeline/topology.h"

namespace triodrill::shadow::pipeline {

struct Config {
  Topology topology;
  Policy policy;
  std::string run_dir;  // absolute
};

// ---- what happens, beside what launchers say

// The connection to a launcher is gone.
struct NodeGone {
  std::string node;
};
// The answer to ReadCheckpoints: complete checkpoints not newer than `latest`, newest first.
struct Checkpoints {
  int request = 0;
  std::vector<int64_t> steps;
};
struct Confirmed {};  // by a person
struct Tick {};       // several times a second
struct StopAsked {};

using Event = std::variant<NodeHello, Said, Started, Closed, Exited, ErrorLine, NodeReport, CheckDone, XidSeen,
                           NodeGone, Checkpoints, Confirmed, Tick, StopAsked>;

// ---- what is to be done

struct Order {
  std::string node;
  ToNode order;
};
// A line of pipeline.log.
struct LogLine {
  std::string event;
  std::vector<std::pair<std::string, std::string>> values;
};
// A line of truth.jsonl; the shell adds the time.
struct Truth {
  std::string event;
  std::string slot;  // may be empty
  int rank = -1;
  int64_t step = -1;
};
// A line of sdc-ledger.jsonl.
struct LedgerEntry {
  std::string slot;  // empty: no check named anybody
  int rank = -1;
  int64_t step = 0;
  int epoch = 0;
  std::string check;
  std::string detail;
  int frequency = 0;  // suspects at this slot so far
  std::string disposition;
  std::vector<std::string> retests;  // proposed
};
struct MakeStore {
  std::string path;    // an empty directory must be there before anything that follows
  bool alone = false;  // those of earlier rendezvous, beside it, are of no use any more
};
// Answered some time, or never: storage may be as slow as it likes.
struct ReadCheckpoints {
  int request = 0;
};
struct EndProgram {};

using Action = std::variant<Order, LogLine, Truth, LedgerEntry, MakeStore, ReadCheckpoints, EndProgram>;

struct Stepped {
  State state;
  std::vector<Action> actions;
};
Stepped Step(const Config& config, State state, const Event& event, TimePoint now);

// The state before anything has happened.
State Begin(const Config& config, TimePoint now);

// "detected slot=n2/0 detail="two words"": a line of pipeline.log without its time. Pure.
std::string FormatLine(const LogLine& line);

}  // namespace triodrill::shadow::pipeline
