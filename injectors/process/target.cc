#include "injectors/process/target.h"

#include "injectors/journal/record.h"

namespace triodrill {
namespace {

std::vector<std::string>& Protected() {
  static auto* const patterns = new std::vector<std::string>;
  return *patterns;
}

}  // namespace

void SetProtectedCommands(std::vector<std::string> patterns) { Protected() = std::move(patterns); }
const std::vector<std::string>& ProtectedCommands() { return Protected(); }

std::string ProcessResource(const v1::ProcessIdentity& identity, std::string_view what) {
  return Cat("process/", identity.pid(), "@", identity.start_time_ticks(), "/", what);
}

Result<ProcessHandle> OpenTarget(const v1::AimedFault& fault) {
  if (!fault.target().has_process()) {
    return absl::InvalidArgumentError(Cat("prepare ", fault.kind(), ": its target is not a process"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(ProcessHandle process, ProcessHandle::Open(fault.target().process()));
  if (process.Ended()) {
    return absl::NotFoundError(Cat("prepare ", fault.kind(), ": ", Describe(process.identity()), " has ended"));
  }
  TRIODRILL_RETURN_IF_ERROR(CheckMayBeTarget(process.identity()));
  return process;
}

Result<std::optional<ProcessHandle>> FindTarget(const v1::UndoRecord& record, std::string* why) {
  TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
  if (earlier) {
    *why = "recorded on an earlier boot: processes do not survive a reboot";
    return std::nullopt;
  }
  Result<ProcessHandle> process = ProcessHandle::Open(record.fault().target().process());
  if (absl::IsNotFound(process.status())) {
    *why = std::string(process.status().message());
    return std::nullopt;
  }
  if (!process.ok()) return process.status();
  if (process->Ended()) {
    *why = Cat(Describe(process->identity()), " has ended");
    return std::nullopt;
  }
  return std::optional<ProcessHandle>(*std::move(process));
}

}  // namespace triodrill
