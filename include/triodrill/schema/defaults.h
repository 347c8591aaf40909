// The default values that the schema states, put into a message that was read from YAML.
#pragma once

#include "triodrill/schema/yaml.h"

namespace triodrill {

// Sets every field that has a default and was not written. A mapping that was left out altogether is made if it holds
// defaults and no field that is required.
void FillDefaults(google::protobuf::Message& message, const Places& places);

}  // namespace triodrill
