#include "injectors/gpu/nvml.h"

#include <dlfcn.h>

#include <utility>
#include <vector>

#include "triodrill/text.h"

namespace triodrill {
namespace {

using nvml::Return;

std::string& Library() {
  static auto* const library = new std::string("libnvidia-ml.so.1");
  return *library;
}

std::string_view NameOf(Return code) {
  switch (code) {
    case nvml::kSuccess:
      return "success";
    case nvml::kUninitialized:
      return "not initialised";
    case nvml::kInvalidArgument:
      return "invalid argument";
    case nvml::kNotSupported:
      return "not supported by this GPU";
    case nvml::kNoPermission:
      return "no permission; the agent must be root";
    case nvml::kNotFound:
      return "no such GPU";
    case nvml::kInsufficientSize:
      return "not enough room";
    case nvml::kDriverNotLoaded:
      return "the driver is not loaded";
    case nvml::kFunctionNotFound:
      return "the driver does not know it";
    case nvml::kGpuIsLost:
      return "the GPU is lost: it has fallen off the bus";
  }
  return "error";
}

Status Failed(std::string_view operation, std::string_view object, Return code) {
  const std::string message = Cat(operation, " ", object, ": ", NameOf(code), " (NVML ", static_cast<int>(code), ")");
  switch (code) {
    case nvml::kInvalidArgument:
      return absl::InvalidArgumentError(message);
    case nvml::kNoPermission:
      return absl::PermissionDeniedError(message);
    case nvml::kNotFound:
      return absl::NotFoundError(message);
    case nvml::kNotSupported:
    case nvml::kFunctionNotFound:
      return absl::UnimplementedError(message);
    case nvml::kGpuIsLost:
    case nvml::kDriverNotLoaded:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

Status Check(std::string_view operation, std::string_view object, Return code) {
  return code == nvml::kSuccess ? Ok() : Failed(operation, object, code);
}

std::string LoadError() {
  const char* const text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

void SetNvmlLibrary(std::string library) { Library() = std::move(library); }
const std::string& NvmlLibrary() { return Library(); }

Result<std::unique_ptr<Nvml>> Nvml::Open(const std::string& library) {
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return absl::UnavailableError(Cat("load NVML: ", LoadError()));
  nvml::Calls calls;
  std::string missing;
#define TRIODRILL_LOOK_UP(needed, symbol, parameters)                              \
  calls.symbol = reinterpret_cast<decltype(calls.symbol)>(dlsym(loaded, #symbol)); \
  if (needed && calls.symbol == nullptr) missing += " " #symbol;
  TRIODRILL_NVML_CALLS(TRIODRILL_LOOK_UP)
#undef TRIODRILL_LOOK_UP
  if (!missing.empty()) {
    return absl::UnavailableError(Cat("load NVML ", library, ": it does not have", missing, "; use a newer driver"));
  }
  if (const Return code = calls.nvmlInit_v2(); code != nvml::kSuccess) {
    return absl::UnavailableError(Failed("connect to the driver through", library, code).message());
  }
  return std::unique_ptr<Nvml>(new Nvml(library, calls));
}

Nvml::~Nvml() { calls_.nvmlShutdown(); }

Result<nvml::Device> Nvml::Find(const std::string& uuid) const {
  nvml::Device device = nullptr;
  TRIODRILL_RETURN_IF_ERROR(Check("find", uuid, calls_.nvmlDeviceGetHandleByUUID(uuid.c_str(), &device)));
  return device;
}

Result<bool> Nvml::Computes(nvml::Device device, pid_t pid, std::string* others) const {
  std::vector<nvml::ProcessInfo> processes(64);
  unsigned count = static_cast<unsigned>(processes.size());
  const Return code = calls_.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, processes.data());
  TRIODRILL_RETURN_IF_ERROR(Check("list the processes of", "a GPU", code));
  processes.resize(count);
  bool found = false;
  for (const nvml::ProcessInfo& process : processes) {
    if (static_cast<pid_t>(process.pid) == pid) {
      found = true;
    } else {
      Append(*others, others->empty() ? "" : ", ", process.pid);
    }
  }
  return found;
}

Result<std::string> Nvml::GpuOfProcess(pid_t pid) const {
  unsigned count = 0;
  TRIODRILL_RETURN_IF_ERROR(Check("count", "the GPUs", calls_.nvmlDeviceGetCount_v2(&count)));
  std::string found;
  for (unsigned index = 0; index < count; ++index) {
    nvml::Device device = nullptr;
    // A lost GPU is skipped: nobody computes on it any more.
    if (calls_.nvmlDeviceGetHandleByIndex_v2(index, &device) != nvml::kSuccess) continue;
    std::string others;
    TRIODRILL_ASSIGN_OR_RETURN(const bool computes, Computes(device, pid, &others));
    if (!computes) continue;
    char uuid[nvml::kUuidRoom] = {};
    TRIODRILL_RETURN_IF_ERROR(Check("name", Cat("GPU ", index), calls_.nvmlDeviceGetUUID(device, uuid, sizeof uuid)));
    const auto refused = [&](std::string_view why) {
      return absl::FailedPreconditionError(Cat("find the GPU of pid ", pid, ": ", why));
    };
    if (!found.empty()) return refused(Cat("it computes on several, ", found, " and ", uuid));
    if (!others.empty()) return refused(Cat("pid ", others, " computes on ", uuid, ", too"));
    unsigned mig = 0;
    unsigned pending = 0;
    if (calls_.nvmlDeviceGetMigMode != nullptr &&
        calls_.nvmlDeviceGetMigMode(device, &mig, &pending) == nvml::kSuccess && mig != 0) {
      return refused(Cat(uuid, " is divided (MIG): its clocks and power are shared"));
    }
    found = uuid;
  }
  if (!found.empty()) return found;
  return absl::FailedPreconditionError(Cat("find the GPU of pid ", pid, ": it has a context on none of ", count));
}

// An older driver has the older name; a library may have a name that its driver does not know.
Result<uint64_t> Nvml::ReadReasons(nvml::Device device, const std::string& uuid) const {
  unsigned long long reasons = 0;
  Return code = nvml::kFunctionNotFound;
  if (calls_.nvmlDeviceGetCurrentClocksEventReasons != nullptr) {
    code = calls_.nvmlDeviceGetCurrentClocksEventReasons(device, &reasons);
  }
  if (code == nvml::kFunctionNotFound && calls_.nvmlDeviceGetCurrentClocksThrottleReasons != nullptr) {
    code = calls_.nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons);
  }
  TRIODRILL_RETURN_IF_ERROR(Check("read the clock event reasons of", uuid, code));
  return reasons;
}

Result<Nvml::Clocks> Nvml::ReadClocks(const std::string& uuid) const {
  TRIODRILL_ASSIGN_OR_RETURN(const nvml::Device device, Find(uuid));
  Clocks clocks;
  TRIODRILL_RETURN_IF_ERROR(
      Check("read the SM clock of", uuid, calls_.nvmlDeviceGetClockInfo(device, nvml::kClockSm, &clocks.now_mhz)));
  TRIODRILL_RETURN_IF_ERROR(Check("read the highest SM clock of", uuid,
                                  calls_.nvmlDeviceGetMaxClockInfo(device, nvml::kClockSm, &clocks.highest_mhz)));
  TRIODRILL_ASSIGN_OR_RETURN(clocks.reasons, ReadReasons(device, uuid));
  return clocks;
}

Result<Nvml::Power> Nvml::ReadPower(const std::string& uuid) const {
  TRIODRILL_ASSIGN_OR_RETURN(const nvml::Device device, Find(uuid));
  Power power;
  TRIODRILL_RETURN_IF_ERROR(
      Check("read the power limit of", uuid, calls_.nvmlDeviceGetPowerManagementLimit(device, &power.limit_mw)));
  TRIODRILL_RETURN_IF_ERROR(Check("read the default power limit of", uuid,
                                  calls_.nvmlDeviceGetPowerManagementDefaultLimit(device, &power.default_mw)));
  TRIODRILL_RETURN_IF_ERROR(
      Check("read the bounds of the power limit of", uuid,
            calls_.nvmlDeviceGetPowerManagementLimitConstraints(device, &power.least_mw, &power.most_mw)));
  TRIODRILL_RETURN_IF_ERROR(
      Check("read the power draw of", uuid, calls_.nvmlDeviceGetPowerUsage(device, &power.draw_mw)));
  TRIODRILL_ASSIGN_OR_RETURN(power.reasons, ReadReasons(device, uuid));
  return power;
}

Result<uint32_t> Nvml::SupportedClock(const std::string& uuid, uint32_t mhz) const {
  TRIODRILL_ASSIGN_OR_RETURN(const nvml::Device device, Find(uuid));
  unsigned memory = 0;
  if (calls_.nvmlDeviceGetSupportedGraphicsClocks == nullptr ||
      calls_.nvmlDeviceGetMaxClockInfo(device, nvml::kClockMemory, &memory) != nvml::kSuccess) {
    return mhz;
  }
  std::vector<unsigned> clocks(1024);
  unsigned count = static_cast<unsigned>(clocks.size());
  const Return code = calls_.nvmlDeviceGetSupportedGraphicsClocks(device, memory, &count, clocks.data());
  if (code != nvml::kSuccess || count == 0) return mhz;
  clocks.resize(count);
  unsigned best = 0;
  for (const unsigned clock : clocks) {
    if (clock <= mhz && clock > best) best = clock;
  }
  if (best != 0) return best;
  return absl::InvalidArgumentError(Cat("choose a clock of ", uuid, ": it has none of ", mhz, " MHz or less"));
}

Result<nvml::PciInfo> Nvml::ReadPci(const std::string& uuid) const {
  TRIODRILL_ASSIGN_OR_RETURN(const nvml::Device device, Find(uuid));
  nvml::PciInfo info{};
  const Return code = calls_.nvmlDeviceGetPciInfo_v3 == nullptr ? nvml::kFunctionNotFound
                                                                : calls_.nvmlDeviceGetPciInfo_v3(device, &info);
  TRIODRILL_RETURN_IF_ERROR(Check("find on the bus", uuid, code));
  return info;
}

Result<bool> Nvml::Lost(const std::string& uuid) const {
  nvml::Device device = nullptr;
  unsigned mhz = 0;
  Return code = calls_.nvmlDeviceGetHandleByUUID(uuid.c_str(), &device);
  if (code == nvml::kSuccess) code = calls_.nvmlDeviceGetClockInfo(device, nvml::kClockSm, &mhz);
  if (code == nvml::kGpuIsLost) return true;
  TRIODRILL_RETURN_IF_ERROR(Check("look at", uuid, code));
  return false;
}

Status Nvml::LockClocks(const std::string& uuid, uint32_t mhz) const {
  TRIODRILL_ASSIGN_OR_RETURN(const nvml::Device device, Find(uuid));
  return Check("lock the clocks of", uuid, calls_.nvmlDeviceSetGpuLockedClocks(device, mhz, mhz));
}

Status Nvml::ResetClocks(const std::string& uuid) const {
  TRIODRILL_ASSIGN_OR_RETURN(const nvml::Device device, Find(uuid));
  return Check("reset the clocks of", uuid, calls_.nvmlDeviceResetGpuLockedClocks(device));
}

Status Nvml::SetPowerLimit(const std::string& uuid, uint32_t mw) const {
  TRIODRILL_ASSIGN_OR_RETURN(const nvml::Device device, Find(uuid));
  return Check("set the power limit of", uuid, calls_.nvmlDeviceSetPowerManagementLimit(device, mw));
}

Status Nvml::SetLost(const std::string& uuid, bool lost) const {
  if (!CanLose()) return absl::UnimplementedError(Cat("lose ", uuid, ": ", library_, " has no shadow GPUs"));
  return Check(lost ? "lose" : "give back", uuid, calls_.triodrillShadowSetLost(uuid.c_str(), lost ? 1 : 0));
}

Result<Nvml*> NvmlConnection::To(const std::string& library) {
  if (open_ != nullptr && open_->library() == library) return open_.get();
  return Anew(library);
}

Result<Nvml*> NvmlConnection::Anew(const std::string& library) {
  open_ = nullptr;
  TRIODRILL_ASSIGN_OR_RETURN(open_, Nvml::Open(library));
  return open_.get();
}

v1::Capability ProbeNvml(const std::string& kind) {
  v1::Capability capability;
  capability.set_kind(kind);
  const Result<std::unique_ptr<Nvml>> nvml = Nvml::Open(NvmlLibrary());
  capability.set_possible(nvml.ok());
  capability.set_reason(nvml.ok() ? Cat("NVML, ", (*nvml)->library()) : std::string(nvml.status().message()));
  return capability;
}

}  // namespace triodrill
