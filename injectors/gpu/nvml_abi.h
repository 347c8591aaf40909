// The few functions of NVML that the GPU faults call: facts of the binary interface (values, layouts, signatures), in
// declarations of our own, so that nothing of a vendor is needed to build. A test holds them against the list that the
// shadow GPUs' stand-in library is built from.
#pragma once

#include <cstddef>

namespace triodrill::nvml {

enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
};

enum ClockType : unsigned { kClockSm = 1, kClockMemory = 2 };

// Why a clock is not what it could be. A lock of clocks sets none of those that explain.
enum ClockReason : unsigned long long {
  kGpuIdle = 0x1,
  kApplicationsClocks = 0x2,
  kSwPowerCap = 0x4,
};

struct DeviceHandle;
using Device = DeviceHandle*;

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, used_bytes) == 8 &&
              offsetof(ProcessInfo, gpu_instance) == 16);
static_assert(sizeof(Return) == 4 && sizeof(ClockType) == 4 && sizeof(unsigned long long) == 8);

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16 && offsetof(PciInfo, bus_id) == 36);

constexpr unsigned kUuidRoom = 96;

}  // namespace triodrill::nvml

// X(needed, symbol, (parameters)): functions that return nvmlReturn_t, by the versioned names that the library exports.
#define TRIODRILL_NVML_CALLS(X)                                                            \
  X(true, nvmlInit_v2, ())                                                                 \
  X(true, nvmlShutdown, ())                                                                \
  X(true, nvmlDeviceGetCount_v2, (unsigned*))                                              \
  X(true, nvmlDeviceGetHandleByIndex_v2, (unsigned, Device*))                              \
  X(true, nvmlDeviceGetHandleByUUID, (const char*, Device*))                               \
  X(true, nvmlDeviceGetUUID, (Device, char*, unsigned))                                    \
  X(true, nvmlDeviceSetGpuLockedClocks, (Device, unsigned, unsigned))                      \
  X(true, nvmlDeviceResetGpuLockedClocks, (Device))                                        \
  X(true, nvmlDeviceGetPowerManagementLimit, (Device, unsigned*))                          \
  X(true, nvmlDeviceGetPowerManagementLimitConstraints, (Device, unsigned*, unsigned*))    \
  X(true, nvmlDeviceGetPowerManagementDefaultLimit, (Device, unsigned*))                   \
  X(true, nvmlDeviceSetPowerManagementLimit, (Device, unsigned))                           \
  X(true, nvmlDeviceGetClockInfo, (Device, ClockType, unsigned*))                          \
  X(true, nvmlDeviceGetMaxClockInfo, (Device, ClockType, unsigned*))                       \
  X(true, nvmlDeviceGetPowerUsage, (Device, unsigned*))                                    \
  X(true, nvmlDeviceGetComputeRunningProcesses_v3, (Device, unsigned*, ProcessInfo*))      \
  X(false, nvmlDeviceGetCurrentClocksEventReasons, (Device, unsigned long long*))          \
  X(false, nvmlDeviceGetCurrentClocksThrottleReasons, (Device, unsigned long long*))       \
  X(false, nvmlDeviceGetSupportedGraphicsClocks, (Device, unsigned, unsigned*, unsigned*)) \
  X(false, nvmlDeviceGetPciInfo_v3, (Device, PciInfo*))                                    \
  X(false, nvmlDeviceGetMigMode, (Device, unsigned*, unsigned*))                           \
  /* Not of NVML: the stand-in of the shadow GPUs alone has it. */                         \
  X(false, triodrillShadowSetLost, (const char*, unsigned))

namespace triodrill::nvml {

// As found in the library; null: it does not have it.
struct Calls {
#define TRIODRILL_POINTER(needed, symbol, parameters) Return(*symbol) parameters = nullptr;
  TRIODRILL_NVML_CALLS(TRIODRILL_POINTER)
#undef TRIODRILL_POINTER
};

}  // namespace triodrill::nvml
