// The files that the local engine puts into the state directory before the sandbox is built. Effects only.
#pragma once

#include <string>

#include "triodrill/status.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::engines {

std::string SpecFile(const std::string& state_dir);

// A new run directory, each node's directory and policy, the specification. Journals are kept.
Status WriteLocalFiles(const v1::ShadowSpec& spec, const std::string& state_dir);

}  // namespace triodrill::engines
