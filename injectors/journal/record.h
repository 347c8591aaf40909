// What is common to the undo records of all faults.
#pragma once

#include <string>

#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

constexpr uint32_t kUndoRecordFormat = 1;

// With format, fault, boot id, resource and wall time filled in. Fails if the shot cannot be a file's name
// (1~128 of [A-Za-z0-9._-], not starting with '.').
Result<v1::UndoRecord> NewUndoRecord(const v1::AimedFault& fault, const std::string& resource);

// A resource that both change; "" if there is none, and they may be open side by side. Pure.
std::string SharedResource(const v1::UndoRecord& one, const v1::UndoRecord& other);

Status CheckShotName(const std::string& shot);

// Whether the machine was booted since the record was written. No effect of today's faults survives that: processes,
// cgroups and the state of interfaces begin anew, and what looks the same is another's.
Result<bool> FromEarlierBoot(const v1::UndoRecord& record);

}  // namespace triodrill
