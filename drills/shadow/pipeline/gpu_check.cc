#include "drills/shadow/pipeline/gpu_check.h"

#include <dlfcn.h>

#include "absl/strings/str_format.h"
#include "drills/shadow/gpu/nvml_abi.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

using namespace gpu;  // NOLINT(google-build-using-namespace): nvml:: of the stand-in's interface

constexpr uint32_t kClockTolerance = 20;  // MHz
// Of itself, of a person's settings, or of what the job draws: none of them is a fault of the GPU.
constexpr uint64_t kBenign = nvml::kGpuIdle | nvml::kApplicationsClocks | nvml::kSyncBoost | nvml::kSwPowerCap;

// The function of this name; null if the library has none.
#define TRIODRILL_FIND(library, name) reinterpret_cast<decltype(&nvml::name)>(dlsym(library, #name))

// What cannot be read is left as it is in a well one, but for what every GPU tells.
std::string Look(void* library, nvml::Device device, GpuLook& look) {
  const auto read = [](auto* function, auto... arguments) {
    return function != nullptr && function(arguments...) == nvml::kSuccess;
  };
  if (!read(TRIODRILL_FIND(library, nvmlDeviceGetClockInfo), device, nvml::kClockSm, &look.sm_mhz) ||
      !read(TRIODRILL_FIND(library, nvmlDeviceGetMaxClockInfo), device, nvml::kClockSm, &look.max_sm_mhz)) {
    return "its clock cannot be read";
  }
  unsigned long long reasons = 0;
  if (!read(TRIODRILL_FIND(library, nvmlDeviceGetCurrentClocksEventReasons), device, &reasons)) {
    read(TRIODRILL_FIND(library, nvmlDeviceGetCurrentClocksThrottleReasons), device, &reasons);
  }
  look.reasons = reasons;
  read(TRIODRILL_FIND(library, nvmlDeviceGetPowerManagementLimit), device, &look.limit_mw);
  read(TRIODRILL_FIND(library, nvmlDeviceGetPowerManagementDefaultLimit), device, &look.default_limit_mw);
  unsigned long long ecc = 0;
  read(TRIODRILL_FIND(library, nvmlDeviceGetTotalEccErrors), device, nvml::kUncorrected, nvml::kVolatile, &ecc);
  look.uncorrectable_ecc = ecc;
  unsigned correctable = 0;
  unsigned uncorrectable = 0;
  read(TRIODRILL_FIND(library, nvmlDeviceGetRemappedRows), device, &correctable, &uncorrectable, &look.remap_pending,
       &look.remap_failed);
  return "";
}

}  // namespace

std::string WhySick(const GpuLook& look) {
  if (look.lost) return "lost: it has fallen off the bus";
  if (look.uncorrectable_ecc > 0) return Cat(look.uncorrectable_ecc, " uncorrectable ECC errors");
  if (look.remap_failed != 0) return "a row could not be remapped";
  if (look.remap_pending != 0) return "rows wait for a reset to be remapped";
  if (look.limit_mw < look.default_limit_mw) {
    return absl::StrFormat("power limit %.0f W, below its default of %.0f W", look.limit_mw / 1000.0,
                           look.default_limit_mw / 1000.0);
  }
  const bool low = look.sm_mhz + kClockTolerance < look.max_sm_mhz;
  const bool benign = look.reasons != 0 && (look.reasons & ~kBenign) == 0;
  if (!low || benign) return "";
  return absl::StrFormat("SM clock %d of %d MHz, reasons %#x", look.sm_mhz, look.max_sm_mhz, look.reasons);
}

std::string WhyGpuIsSick(const std::string& nvml, int gpu) {
  void* const library = dlopen(nvml.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Cat("cannot be looked at: ", dlerror());
  const auto init = TRIODRILL_FIND(library, nvmlInit_v2);
  const auto find = TRIODRILL_FIND(library, nvmlDeviceGetHandleByIndex_v2);
  if (init == nullptr || find == nullptr) return Cat("cannot be looked at: ", nvml, " is not NVML");
  if (const nvml::Return code = init(); code != nvml::kSuccess) {
    return Cat("cannot be looked at: the driver does not answer (NVML ", static_cast<int>(code), ")");
  }
  GpuLook look;
  nvml::Device device = nullptr;
  const nvml::Return code = find(static_cast<unsigned>(gpu), &device);
  look.lost = code == nvml::kGpuIsLost;
  if (look.lost) return WhySick(look);
  if (code != nvml::kSuccess) return Cat("cannot be found (NVML ", static_cast<int>(code), ")");
  const std::string problem = Look(library, device, look);
  return problem.empty() ? WhySick(look) : problem;
}

}  // namespace triodrill::shadow::pipeline
