// Text -> a Drill, a Partition, a Pipeline that makes sense. Pure: reading the file is read.h.
//
// What the schema alone can refuse (types, units, ranges, unknown keys) is refused by triodrill/schema; here stand the
// rules between fields (DESIGN, section 7), each with the place it concerns. Defaults are filled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "triodrill/schema/diagnostic.h"
#include "triodrill/schema/yaml.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill {

template <typename T>
struct Loaded {
  T message;
  Places places;
  std::string file;
  std::string text;  // as it was read: kept in the bundle
};

// The result may be used only if `problems` did not grow.
Loaded<v1::Drill> LoadDrill(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems);
Loaded<v1::Partition> LoadPartition(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems);
Loaded<v1::Pipeline> LoadPipeline(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems);

// A document of any kind, AgentPolicy included; for `triodrill validate`. Returns its kind, empty if it has none.
std::string Validate(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems);

}  // namespace triodrill
