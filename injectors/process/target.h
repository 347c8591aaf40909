// What the faults on processes have in common: the target of a record, and its name as a resource.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "injectors/process/process_identity.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// "process/123@4567/WHAT": two faults on one process get into each other's way only if they change the same of it.
std::string ProcessResource(const v1::ProcessIdentity& identity, std::string_view what);

// Checks that the target is a process that a drill may touch, and opens it.
Result<ProcessHandle> OpenTarget(const v1::AimedFault& fault);

// Where the record's target is now. nullopt with `why` filled in if it is gone, or the machine was booted since: then
// there is nothing left that an undo could or should touch.
Result<std::optional<ProcessHandle>> FindTarget(const v1::UndoRecord& record, std::string* why);

// The command lines (RE2) that this node's policy protects, for a fault that finds targets by itself. Set once, before
// any thread is there, by the program that reads the policy.
void SetProtectedCommands(std::vector<std::string> patterns);
const std::vector<std::string>& ProtectedCommands();

}  // namespace triodrill
