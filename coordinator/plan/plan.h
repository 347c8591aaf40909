// From what people wrote to everything a run will do: which trial comes when, which shot hits what, chosen from the
// seed. Pure: the same input gives the same plan to the byte. A plan can be made without any agent (`triodrill plan`);
// what the nodes can do is then not known. Where they can do all that was asked, the plan is the same with and without
// them: what was approved beforehand is what is run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "triodrill/exit_code.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/fleet.pb.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill::plan {

// What each node said of itself when its agent attached, by node name.
using Abilities = std::map<std::string, v1::Hello>;

struct Request {
  v1::Drill drill;  // loaded: valid in itself, defaults filled in
  v1::Partition partition;
  v1::Pipeline pipeline;
  std::string tool_version;
  std::optional<Abilities> abilities;  // nullopt: no agent was asked
};

// Why there is no plan. `exit_code` is kInvalidFile where the files contradict each other, kRefused where the partition
// cannot or may not do what was asked.
struct Refusal {
  ExitCode exit_code = ExitCode::kInvalidFile;
  std::string what;
  std::string hint;
};

struct Outcome {
  std::optional<v1::Plan> plan;
  std::vector<Refusal> refusals;  // not empty if there is no plan
};

Outcome MakePlan(const Request& request);

// "3.kill.0": unique in a run.
std::string ShotName(int trial, const v1::Shot& shot);

// What a shot is aimed at, for people: "n0/0", "n1 eth0", "rank 2".
std::string TargetText(const v1::Shot& shot);

// Every slot of the partition that is not on a spare node, in order: "n0/0", "n1/0", …
std::vector<std::string> ServingSlots(const v1::PartitionSpec& partition);

}  // namespace triodrill::plan
