// Reads a YAML file from disk: the one effect of loading.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "triodrill/schema/diagnostic.h"

namespace triodrill {

// The text of a regular file of at most kMaxTextBytes; otherwise nullopt, and `problems` has grown by one.
std::optional<std::string> ReadYamlFile(const std::string& path, std::vector<Diagnostic>& problems);

}  // namespace triodrill
