// The files that the local engine puts into the state directory before the sandbox is built. Effects only.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "triodrill/status.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::engines {

std::string SpecFile(const std::string& state_dir);

// A new run directory, each node's directory and policy, the specification. Journals are kept.
Status WriteLocalFiles(const v1::ShadowSpec& spec, const std::string& state_dir);

// The supervisor that holds the sandbox's lock: what is up, whether it answers or not. nullopt if the lock is free, and
// then every init of the sandbox is gone; 0 if it is held by one that has not written (or has removed) its pid.
std::optional<pid_t> SandboxHolder(const std::string& state_dir);

}  // namespace triodrill::engines
