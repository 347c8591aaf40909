// A small drill, partition and pipeline for tests of the plan, the gate and the conductor.
#pragma once

#include <string>
#include <vector>

#include "coordinator/plan/plan.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/time.h"

namespace triodrill::testing {

inline google::protobuf::Duration Seconds(double seconds) {
  return ToProto(Nanos(static_cast<int64_t>(seconds * 1e9)));
}

inline v1::Partition ThreeNodes() {
  v1::Partition partition;
  partition.mutable_metadata()->set_name("embedded");
  partition.mutable_spec()->set_shadow(true);
  partition.mutable_spec()->set_engine("local");
  for (int i = 0; i < 3; ++i) {
    v1::Node* node = partition.mutable_spec()->add_nodes();
    node->set_name("n" + std::to_string(i));
    node->set_slots(1);
  }
  partition.mutable_spec()->mutable_limits()->set_max_faulted_nodes(1);
  partition.mutable_spec()->mutable_limits()->set_min_alive_nodes(1);
  *partition.mutable_spec()->mutable_limits()->mutable_max_hold() = Seconds(60);
  return partition;
}

inline v1::Pipeline QuietPipeline() {
  v1::Pipeline pipeline;
  pipeline.mutable_metadata()->set_name("torchrun");
  *pipeline.mutable_spec()->mutable_at_rest()->mutable_quiet() = Seconds(3);
  v1::Baseline* baseline = pipeline.mutable_spec()->mutable_baseline();
  baseline->set_steps(20);
  *baseline->mutable_at_least() = Seconds(3);
  *baseline->mutable_deadline() = Seconds(30);
  baseline->set_theta(0.95);
  return pipeline;
}

inline v1::Fault& AddFault(v1::Drill& drill, const std::string& id, const std::string& kind) {
  v1::Fault* fault = drill.mutable_spec()->add_faults();
  fault->set_id(id);
  fault->set_inject(kind);
  SelectParameters(kind, *fault->mutable_with());
  fault->mutable_target()->set_role(kind == "link.down" ? v1::LINK : v1::RANK);
  if (kind == "link.down") fault->mutable_target()->set_interface("eth0");
  fault->mutable_target()->set_pick(1);
  fault->mutable_target()->set_limit(1);
  fault->mutable_start()->set_after("baseline");
  return *fault;
}

inline v1::Drill EmptyDrill(int faulted, int sham) {
  v1::Drill drill;
  drill.mutable_metadata()->set_name("a-drill");
  drill.mutable_spec()->mutable_trials()->set_faulted(faulted);
  drill.mutable_spec()->mutable_trials()->set_sham(sham);
  drill.mutable_spec()->mutable_trials()->set_seed(42);
  *drill.mutable_spec()->mutable_trials()->mutable_cooldown() = Seconds(5);
  *drill.mutable_spec()->mutable_deadline()->mutable_detection() = Seconds(20);
  *drill.mutable_spec()->mutable_deadline()->mutable_recovery() = Seconds(60);
  *drill.mutable_spec()->mutable_expect()->mutable_detection_latency()->mutable_max() = Seconds(10);
  return drill;
}

// One process.pause of one rank, held until isolated, at most 8 s.
inline v1::Drill PauseDrill(int faulted = 1, int sham = 0) {
  v1::Drill drill = EmptyDrill(faulted, sham);
  v1::Fault& fault = AddFault(drill, "pause", "process.pause");
  fault.mutable_hold()->set_until("isolated");
  *fault.mutable_hold()->mutable_max() = Seconds(8);
  return drill;
}

inline v1::Drill KillDrill(int faulted = 1, int sham = 0) {
  v1::Drill drill = EmptyDrill(faulted, sham);
  AddFault(drill, "kill", "process.kill");
  return drill;
}

inline plan::Request RequestOf(const v1::Drill& drill) {
  return {drill, ThreeNodes(), QuietPipeline(), "test", std::nullopt};
}

inline v1::Plan PlanOf(const v1::Drill& drill) { return *plan::MakePlan(RequestOf(drill)).plan; }

// Agents that can and may do everything.
inline plan::Abilities AbleNodes() {
  plan::Abilities abilities;
  for (int i = 0; i < 3; ++i) {
    v1::Hello hello;
    hello.set_node("n" + std::to_string(i));
    hello.set_shadow(true);
    hello.set_max_hold_ns(Nanos(std::chrono::minutes(5)).count());
    for (const FaultRow& row : FaultCatalogue()) {
      v1::Capability* capability = hello.add_capabilities();
      capability->set_kind(row.kind);
      capability->set_possible(true);
      hello.add_policy_faults(row.kind);
    }
    abilities[hello.node()] = hello;
  }
  return abilities;
}

}  // namespace triodrill::testing
