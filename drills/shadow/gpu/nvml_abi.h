// The part of NVML that the stand-in library answers to: facts of the binary interface (values, layouts, signatures),
// in declarations of our own. One list feeds the declarations, the tests, and whoever loads the library by name.
#pragma once

#include <cstddef>

namespace triodrill::shadow::gpu::nvml {

enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kMemory = 20,
  kUnknown = 999,
};

enum ClockType : unsigned { kClockGraphics = 0, kClockSm = 1, kClockMemory = 2, kClockVideo = 3 };
enum TemperatureSensor : unsigned { kSensorGpu = 0 };
enum MemoryErrorType : unsigned { kCorrected = 0, kUncorrected = 1 };
enum EccCounterType : unsigned { kVolatile = 0, kAggregate = 1 };
enum MemoryLocation : unsigned { kDram = 2, kLocations = 8 };

// Why a clock is not what it could be. A lock sets none of these.
enum ClockReason : unsigned long long {
  kGpuIdle = 0x1,
  kApplicationsClocks = 0x2,
  kSwPowerCap = 0x4,
  kHwSlowdown = 0x8,
  kSyncBoost = 0x10,
  kSwThermalSlowdown = 0x20,
  kHwThermalSlowdown = 0x40,
  kHwPowerBrake = 0x80,
};

enum EventType : unsigned long long { kEventSbe = 0x1, kEventDbe = 0x2, kEventXid = 0x8 };

constexpr unsigned kLimitTdp = 0xffffff01U;        // in place of clocks to lock: both or neither
constexpr unsigned kLimitUnlimited = 0xffffff02U;  // likewise
constexpr unsigned kNoInstance = 0xffffffffU;      // of a GPU that is not divided

struct DeviceHandle;
using Device = DeviceHandle*;
struct EventSetHandle;
using EventSet = EventSetHandle*;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16 && offsetof(PciInfo, bus_id) == 36);

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
static_assert(sizeof(Utilization) == 8);

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, used_bytes) == 8 &&
              offsetof(ProcessInfo, gpu_instance) == 16);

struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, type) == 8 && offsetof(EventData, data) == 16 &&
              offsetof(EventData, gpu_instance) == 24);

// NOLINTNEXTLINE(bugprone-sizeof-expression): a handle is a pointer
static_assert(sizeof(Return) == 4 && sizeof(ClockType) == 4 && sizeof(unsigned long long) == 8 && sizeof(Device) == 8);

}  // namespace triodrill::shadow::gpu::nvml

// X(needed, symbol, (parameters)): functions that return nvmlReturn_t. There is no getter of locked clocks, as there is
// none in NVML: what was locked before cannot be read, and a reset loses it.
#define TRIODRILL_NVML_FUNCTIONS(X)                                                                 \
  X(1, nvmlInit_v2, ())                                                                             \
  X(1, nvmlShutdown, ())                                                                            \
  X(1, nvmlDeviceGetCount_v2, (unsigned*))                                                          \
  X(1, nvmlDeviceGetHandleByIndex_v2, (unsigned, Device*))                                          \
  X(1, nvmlDeviceGetHandleByUUID, (const char*, Device*))                                           \
  X(1, nvmlDeviceGetUUID, (Device, char*, unsigned))                                                \
  X(1, nvmlDeviceSetGpuLockedClocks, (Device, unsigned, unsigned))                                  \
  X(1, nvmlDeviceResetGpuLockedClocks, (Device))                                                    \
  X(1, nvmlDeviceGetPowerManagementLimit, (Device, unsigned*))                                      \
  X(1, nvmlDeviceGetPowerManagementLimitConstraints, (Device, unsigned*, unsigned*))                \
  X(1, nvmlDeviceGetPowerManagementDefaultLimit, (Device, unsigned*))                               \
  X(1, nvmlDeviceSetPowerManagementLimit, (Device, unsigned))                                       \
  X(1, nvmlDeviceGetClockInfo, (Device, ClockType, unsigned*))                                      \
  X(1, nvmlDeviceGetMaxClockInfo, (Device, ClockType, unsigned*))                                   \
  X(1, nvmlDeviceGetPowerUsage, (Device, unsigned*))                                                \
  X(0, nvmlDeviceGetCurrentClocksEventReasons, (Device, unsigned long long*))                       \
  X(0, nvmlDeviceGetCurrentClocksThrottleReasons, (Device, unsigned long long*))                    \
  X(0, nvmlDeviceSetMemoryLockedClocks, (Device, unsigned, unsigned))                               \
  X(0, nvmlDeviceResetMemoryLockedClocks, (Device))                                                 \
  X(0, nvmlDeviceGetSupportedMemoryClocks, (Device, unsigned*, unsigned*))                          \
  X(0, nvmlDeviceGetSupportedGraphicsClocks, (Device, unsigned, unsigned*, unsigned*))              \
  X(0, nvmlDeviceGetEnforcedPowerLimit, (Device, unsigned*))                                        \
  X(0, nvmlDeviceGetTemperature, (Device, TemperatureSensor, unsigned*))                            \
  X(0, nvmlDeviceGetUtilizationRates, (Device, Utilization*))                                       \
  X(0, nvmlDeviceGetEccMode, (Device, unsigned*, unsigned*))                                        \
  X(0, nvmlDeviceGetTotalEccErrors, (Device, MemoryErrorType, EccCounterType, unsigned long long*)) \
  X(0, nvmlDeviceGetMemoryErrorCounter,                                                             \
    (Device, MemoryErrorType, EccCounterType, MemoryLocation, unsigned long long*))                 \
  X(0, nvmlDeviceGetRemappedRows, (Device, unsigned*, unsigned*, unsigned*, unsigned*))             \
  X(0, nvmlDeviceGetPciInfo_v3, (Device, PciInfo*))                                                 \
  X(0, nvmlDeviceGetName, (Device, char*, unsigned))                                                \
  X(0, nvmlDeviceGetPersistenceMode, (Device, unsigned*))                                           \
  X(0, nvmlDeviceGetMigMode, (Device, unsigned*, unsigned*))                                        \
  X(0, nvmlDeviceGetComputeRunningProcesses_v3, (Device, unsigned*, ProcessInfo*))                  \
  X(0, nvmlSystemGetDriverVersion, (char*, unsigned))                                               \
  X(0, nvmlEventSetCreate, (EventSet*))                                                             \
  X(0, nvmlDeviceRegisterEvents, (Device, unsigned long long, EventSet))                            \
  X(0, nvmlEventSetWait_v2, (EventSet, EventData*, unsigned))                                       \
  X(0, nvmlEventSetFree, (EventSet))

namespace triodrill::shadow::gpu::nvml {
extern "C" {
#define TRIODRILL_DECLARE(needed, symbol, parameters) __attribute__((visibility("default"))) Return symbol parameters;
TRIODRILL_NVML_FUNCTIONS(TRIODRILL_DECLARE)
#undef TRIODRILL_DECLARE
__attribute__((visibility("default"))) const char* nvmlErrorString(Return);
// Not of NVML, where nothing loses a GPU on request: by UUID, 1: it falls off the bus with XID 79; 0: it is back.
__attribute__((visibility("default"))) Return triodrillShadowSetLost(const char* uuid, unsigned lost);
}
}  // namespace triodrill::shadow::gpu::nvml
