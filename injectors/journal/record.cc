#include "injectors/journal/record.h"

#include <algorithm>

#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "triodrill/text.h"

namespace triodrill {

Status CheckShotName(const std::string& shot) {
  constexpr size_t kLongest = 128;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  bool good = !shot.empty() && shot.size() <= kLongest && shot.front() != '.';
  for (const char c : shot) good = good && allowed(c);
  if (good) return Ok();
  return absl::InvalidArgumentError(
      Cat("name of shot '", shot, "': 1 to ", kLongest, " of [A-Za-z0-9._-], not beginning with '.', are allowed"));
}

Result<v1::UndoRecord> NewUndoRecord(const v1::AimedFault& fault, const std::string& resource) {
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(fault.shot()));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string boot, BootId());
  v1::UndoRecord record;
  record.set_format(kUndoRecordFormat);
  *record.mutable_fault() = fault;
  record.set_boot_id(boot);
  record.set_resource(resource);
  record.set_written_wall_ns(WallTime().count());
  return record;
}

std::string SharedResource(const v1::UndoRecord& one, const v1::UndoRecord& other) {
  const auto changes = [](const v1::UndoRecord& record, const std::string& resource) {
    const auto& further = record.further_resources();
    return record.resource() == resource || std::find(further.begin(), further.end(), resource) != further.end();
  };
  if (changes(other, one.resource())) return one.resource();
  for (const std::string& resource : one.further_resources()) {
    if (changes(other, resource)) return resource;
  }
  return "";
}

Result<bool> FromEarlierBoot(const v1::UndoRecord& record) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string boot, BootId());
  return record.boot_id() != boot;
}

}  // namespace triodrill
