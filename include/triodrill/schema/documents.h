// The kinds of document that people write: the values of `kind:`.
#pragma once

#include <string_view>
#include <vector>

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace triodrill {

// Drill, Partition, Pipeline, AgentPolicy, ShadowPolicy.
const std::vector<const google::protobuf::Descriptor*>& DocumentTypes();

// By name, letter case aside; nullptr if there is none.
const google::protobuf::Descriptor* FindDocumentType(std::string_view kind);

}  // namespace triodrill
