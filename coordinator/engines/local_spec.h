// What goes into the embedded partition's files: pure texts and values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/engines/programs.h"
#include "triodrill/status.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill::engines {

// Replaces ${name}; InvalidArgument names one that is unknown. A '$' without '{' stays.
Result<std::string> Expand(std::string_view text, const std::map<std::string, std::string>& values);

// The policy of a node of the embedded partition: it is a shadow, every fault of the schema is allowed, the programs of
// triodrill and the loopback interface are not. Of approvals it says what the partition says.
std::string AgentPolicyYaml(std::string_view node, const v1::PartitionSpec& partition);

// The command of a run without a fault, of so many steps. InvalidArgument names the placeholder that is wrong.
Result<std::vector<std::string>> ReferenceArgv(const v1::Partition& partition, const v1::Reference& reference,
                                               const Programs& programs, const std::string& state_dir, int64_t steps);

}  // namespace triodrill::engines
