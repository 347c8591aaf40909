#include "coordinator/engines/local_spec.h"

#include <vector>

#include "coordinator/engines/local_engine.h"
#include "coordinator/engines/shadow_gpus.h"
#include "coordinator/engines/state_dir.h"
#include "triodrill/schema/json.h"
#include "triodrill/text.h"
#include "triodrill/v1/faults.pb.h"
#include "triodrill/v1/options.pb.h"

namespace triodrill::engines {
namespace {

constexpr int kPrefixLength = 24;

// Nodes without an address get one of the private network that the examples use.
std::string AddressOf(const v1::PartitionSpec& partition, int index) {
  const std::string& given = partition.nodes(index).address();
  return given.empty() ? Cat("10.77.0.", 10 + index) : given;
}

v1::Program AgentProgram(const Programs& programs, const std::string& state_dir, const std::string& node) {
  v1::Program agent;
  const std::string directory = NodeDir(state_dir, node);
  for (const std::string& argument :
       {programs.agent, std::string("--node"), node, std::string("--coordinator"),
        "unix:" + CoordinatorSocket(state_dir), std::string("--state-dir"), directory, std::string("--policy"),
        directory + "/policy.yaml", std::string("--nvml"), NvmlLink(state_dir, node), std::string("--kmsg"),
        KernelLogFile(state_dir, node)}) {
    agent.add_argv(argument);
  }
  agent.set_out(directory + "/agent.log");
  agent.set_err(directory + "/agent.log");
  return agent;
}

Result<v1::Program> WorkloadProgram(const v1::Workload& workload, const std::map<std::string, std::string>& values,
                                    const std::string& state_dir, const std::string& node) {
  v1::Program program;
  for (const std::string& argument : workload.command()) {
    TRIODRILL_ASSIGN_OR_RETURN(*program.add_argv(), Expand(argument, values));
  }
  for (const std::string& entry : workload.env()) {
    if (entry.find('=') == std::string::npos || entry.front() == '=') {
      return absl::InvalidArgumentError(Cat("workload environment \"", entry, "\": write NAME=value"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(*program.add_env(), Expand(entry, values));
  }
  program.set_out(Cat(RunDir(state_dir), "/", node, ".out"));
  program.set_err(Cat(RunDir(state_dir), "/", node, ".err"));
  return program;
}

// What is the same on every node.
std::map<std::string, std::string> CommonValues(const v1::PartitionSpec& partition, const Programs& programs,
                                                const std::string& state_dir) {
  return {
      {"nodes", std::to_string(partition.nodes_size())},
      {"first_node", partition.nodes(0).name()},
      {"first_address", AddressOf(partition, 0)},
      {"run_dir", RunDir(state_dir)},
      {"data_dir", programs.data_dir},
      {"bin_dir", programs.bin_dir},
      {"partition_file", PartitionFile(state_dir)},
  };
}

std::string ApprovalsYaml(const v1::PartitionSpec& partition) {
  std::string text;
  const auto quoted = [&text](std::string_view name, const std::string& value) {
    Append(text, name, ": ");
    AppendJsonString(value, text);
  };
  if (!partition.waive_approvals().empty()) {
    quoted("  waive_approvals", partition.waive_approvals());
    text += "\n";
  }
  if (partition.approvals() > 0) Append(text, "  approvals: ", partition.approvals(), "\n");
  if (partition.approvers_size() > 0) text += "  approvers:\n";
  for (const v1::Approver& approver : partition.approvers()) {
    quoted("    - {name", approver.name());
    quoted(", key", approver.key());
    text += "}\n";
  }
  return text;
}

}  // namespace

Result<std::string> Expand(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string expanded;
  size_t at = 0;
  for (size_t open; (open = text.find("${", at)) != std::string_view::npos;) {
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) return absl::InvalidArgumentError(Cat("\"", text, "\": a ${ is not closed"));
    const std::string name(text.substr(open + 2, close - open - 2));
    const auto value = values.find(name);
    if (value == values.end()) {
      std::string known;
      for (const auto& entry : values) Append(known, known.empty() ? "" : ", ", entry.first);
      return absl::InvalidArgumentError(Cat("\"", text, "\": there is no ${", name, "}; known are ", known));
    }
    Append(expanded, text.substr(at, open - at), value->second);
    at = close + 1;
  }
  Append(expanded, text.substr(at));
  return expanded;
}

std::string AgentPolicyYaml(std::string_view node, const v1::PartitionSpec& partition) {
  std::string kinds;
  const google::protobuf::Descriptor* parameters = v1::Parameters::descriptor();
  for (int i = 0; i < parameters->field_count(); ++i) {
    const google::protobuf::Descriptor* fault = parameters->field(i)->message_type();
    if (fault == nullptr) continue;
    Append(kinds, kinds.empty() ? "" : ", ", fault->options().GetExtension(v1::fault).kind());
  }
  // The command line's program is what is matched: a training job may well have "triodrill" in an argument or a path.
  // The trainer of the reference job is there to be drilled; it is the one program of ours whose name begins with "tr".
  return Cat(
      "# Written by triodrill for a node of the embedded shadow partition.\n"
      "apiVersion: triodrill/v1\n"
      "kind: AgentPolicy\n"
      "metadata: {name: ",
      node,
      "}\n"
      "spec:\n"
      "  shadow: true\n"
      "  faults: [",
      kinds,
      "]\n"
      "  max_hold: 5min\n"
      "  protect_commands: ['^(\\S*/)?triodrill(d|-([a-su-z]|t[a-qs-z])[a-z-]*)?( |$)']\n"
      "  protect_interfaces: [lo]\n",
      ApprovalsYaml(partition));
}

Result<v1::ShadowSpec> LocalEngine::Spec(const v1::Partition& partition, const v1::Pipeline& pipeline,
                                         const Programs& programs, const std::string& state_dir) {
  const v1::PartitionSpec& wanted = partition.spec();
  if (wanted.engine() != "local") {
    return absl::InvalidArgumentError(Cat("partition ", partition.metadata().name(), ": engine \"", wanted.engine(),
                                          "\" is not the embedded one; that is \"local\""));
  }
  if (wanted.nodes().empty())
    return absl::InvalidArgumentError(Cat("partition ", partition.metadata().name(), ": it has no nodes"));
  v1::ShadowSpec spec;
  spec.set_name(partition.metadata().name());
  spec.set_state_dir(state_dir);
  spec.set_prefix_length(kPrefixLength);
  spec.set_partition(ToJson(partition));
  for (int i = 0; i < wanted.nodes_size(); ++i) {
    const std::string& name = wanted.nodes(i).name();
    std::map<std::string, std::string> values = CommonValues(wanted, programs, state_dir);
    values.insert({{"node", name}, {"node_index", std::to_string(i)}, {"address", AddressOf(wanted, i)}});
    v1::ShadowNode& node = *spec.add_nodes();
    node.set_name(name);
    node.set_address(AddressOf(wanted, i));
    *node.mutable_agent() = AgentProgram(programs, state_dir, name);
    TRIODRILL_ASSIGN_OR_RETURN(*node.mutable_workload(),
                               WorkloadProgram(pipeline.spec().workload(), values, state_dir, name));
  }
  return spec;
}

Result<std::vector<std::string>> ReferenceArgv(const v1::Partition& partition, const v1::Reference& reference,
                                               const Programs& programs, const std::string& state_dir, int64_t steps) {
  std::map<std::string, std::string> values = CommonValues(partition.spec(), programs, state_dir);
  values["steps"] = std::to_string(steps);
  std::vector<std::string> argv;
  for (const std::string& argument : reference.command()) {
    TRIODRILL_ASSIGN_OR_RETURN(std::string expanded, Expand(argument, values));
    argv.push_back(std::move(expanded));
  }
  return argv;
}

}  // namespace triodrill::engines
