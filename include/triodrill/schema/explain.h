// What the schema says about itself, for people and for editors.
#pragma once

#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace triodrill {

// `path`: empty (what there is to explain), a field ("drill.spec.faults.hold") or a kind of fault ("process.kill").
Result<std::string> Explain(std::string_view path);

// The fault catalogue as a table, for `triodrill faults`.
std::string ExplainFaults();

// JSON Schema 2020-12 of one kind of document: "Drill", "Partition", "Pipeline", "AgentPolicy", "ShadowPolicy".
Result<std::string> JsonSchema(std::string_view kind);

}  // namespace triodrill
