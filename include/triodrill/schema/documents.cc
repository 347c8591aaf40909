#include "triodrill/schema/documents.h"

#include "absl/strings/match.h"
#include "google/protobuf/descriptor.h"
#include "triodrill/text.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/shadow_policy.pb.h"

namespace triodrill {

const std::vector<const google::protobuf::Descriptor*>& DocumentTypes() {
  static const auto* const types = new std::vector<const google::protobuf::Descriptor*>{
      v1::Drill::descriptor(), v1::Partition::descriptor(), v1::Pipeline::descriptor(), v1::AgentPolicy::descriptor(),
      v1::ShadowPolicy::descriptor()};
  return *types;
}

const google::protobuf::Descriptor* FindDocumentType(std::string_view kind) {
  for (const auto* type : DocumentTypes()) {
    if (absl::EqualsIgnoreCase(View(kind), type->name())) return type;
  }
  return nullptr;
}

}  // namespace triodrill
