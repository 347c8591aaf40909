// What Slurm says of its nodes and jobs: the answers of `sinfo --json` and `squeue --json` (openapi v0.0.38, Slurm
// 22.05), and who is out of service by them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"

namespace triodrill::watch {

struct SlurmNode {
  std::string name;
  std::string state;   // written as scontrol does, flags sorted: "IDLE", "MIXED+DRAIN", "DOWN+NOT_RESPONDING"
  std::string reason;  // "" if there is none
};

struct SlurmJob {
  int64_t id = 0;
  std::string name;
  std::string state;               // "RUNNING"
  std::string reason;              // why it waits: "BeginTime"; "None" otherwise
  std::string nodes_text;          // as it was written
  std::vector<std::string> nodes;  // those it holds at the moment
  int64_t restarts = 0;
};

// Those of one Slurm partition. An answer is taken as a whole or not at all: one that comes with errors, or in which a
// node or job lacks what is needed of it, is refused; fields that are not known are passed over.
Result<std::vector<SlurmNode>> ParseSlurmNodes(std::string_view body, const std::string& partition);
Result<std::vector<SlurmJob>> ParseSlurmJobs(std::string_view body, const std::string& partition);

// The names of those that are given no new work, sorted: down, failed, drained or draining (a job may still run on
// it), not responding, in maintenance or without power. A node whose state is not known is among them.
std::vector<std::string> OutOfService(const std::vector<SlurmNode>& nodes);

}  // namespace triodrill::watch
