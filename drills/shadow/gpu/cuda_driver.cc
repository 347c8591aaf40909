// A stand-in for the CUDA driver (libcuda.so.1) on the node's shadow GPUs: the few functions of triodrill/kernels/
// cuda_abi.h, on host memory, and no kernels but our own, by name. Simulated, and nothing else: no instruction of a
// kernel is executed. Any thread. State of its own ends with the process; what others see is the GPUs' state.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "drills/shadow/gpu/beside.h"
#include "drills/shadow/gpu/cuda_work.h"
#include "drills/shadow/gpu/model.h"
#include "drills/shadow/gpu/page.h"
#include "drills/shadow/gpu/processes.h"
#include "triodrill/kernels/cuda_abi.h"

namespace triodrill::cuda {

struct ContextHandle {
  shadow::gpu::Gpu* gpu;
  shadow::gpu::cuda::Stream stream;
};
struct ModuleHandle {
  char* text;
};
// Lives as long as the process: a module that is unloaded leaves names behind, and no more.
struct FunctionHandle {
  shadow::gpu::cuda::Kernel kernel;
};

namespace {

using shadow::gpu::Gpu;
using shadow::gpu::State;
using shadow::gpu::cuda::Kernel;
using shadow::gpu::cuda::Work;

constexpr int kSharedBytes = 232'448;  // as an H100 gives a block that asks for it
constexpr unsigned kThreads = 1024;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
State* state = nullptr;  // under the lock until it is set, then as it is
struct File {
  dev_t device = 0;
  ino_t inode = 0;
};
File mapped;                                // under the lock: of the state
unsigned contexts[shadow::gpu::kMostGpus];  // under the lock: of each GPU
__thread ContextHandle* current = nullptr;
FunctionHandle burn = {Kernel::kBurn};
FunctionHandle hang = {Kernel::kHang};

State* Attached() {
  pthread_mutex_lock(&lock);
  State* const attached = state;
  pthread_mutex_unlock(&lock);
  return attached;
}

// Under the lock. A file, once mapped, stays mapped: another thread may still look at it.
bool MapOwnState() {
  const char* const path = shadow::gpu::StatePath();
  struct stat facts {};
  if (path == nullptr || stat(path, &facts) != 0) return false;
  if (state != nullptr && facts.st_dev == mapped.device && facts.st_ino == mapped.inode) return true;
  State* const made = shadow::gpu::MapState(path, true).state;
  if (made == nullptr) return false;
  state = made;
  mapped = {facts.st_dev, facts.st_ino};
  return true;
}

Code Find(Device device, Gpu** gpu) {
  State* const attached = Attached();
  if (attached == nullptr) return kNotInitialized;
  if (device < 0 || device >= static_cast<int>(attached->count)) return kInvalidDevice;
  *gpu = &attached->gpus[device];
  return kSuccess;
}

bool IsOurStream(Stream stream) { return stream == nullptr || stream == LegacyStream(); }

Code CheckStream(Stream stream) {
  if (current == nullptr) return kInvalidContext;
  if (!IsOurStream(stream)) return kInvalidHandle;
  return current->gpu->lost.load() != 0 ? kUnknown : kSuccess;
}

template <typename T>
T Parameter(void** parameters, int number) {
  T value;
  std::memcpy(&value, parameters[number], sizeof value);
  return value;
}

// Counts the process among the GPU's with its first context, and takes it out with its last.
void Count(Gpu& gpu, int by) {
  unsigned& count = contexts[&gpu - state->gpus];
  pthread_mutex_lock(&lock);
  count += static_cast<unsigned>(by);
  if (by > 0) shadow::gpu::AddProcess(gpu, shadow::gpu::ProcessWord(getpid()));
  if (count == 0) shadow::gpu::RemoveProcess(gpu, shadow::gpu::ProcessWord(getpid()));
  pthread_mutex_unlock(&lock);
}

}  // namespace

extern "C" {
#define TRIODRILL_DECLARE(symbol, parameters) __attribute__((visibility("default"))) Code symbol parameters;
TRIODRILL_CUDA_CALLS(TRIODRILL_DECLARE)
#undef TRIODRILL_DECLARE
}

extern "C" Code cuInit(unsigned flags) {
  if (flags != 0) return kInvalidValue;
  pthread_mutex_lock(&lock);
  unsigned open = 0;
  for (const unsigned count : contexts) open += count;
  const Code code = open > 0 || MapOwnState() ? kSuccess : kNoDevice;
  pthread_mutex_unlock(&lock);
  return code;
}

extern "C" Code cuGetErrorName(Code code, const char** name) {
  struct Named {
    Code code;
    const char* name;
  };
  static constexpr Named kNames[] = {
      {kSuccess, "CUDA_SUCCESS"},
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
      {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
      {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
      {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
      {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {kNotFound, "CUDA_ERROR_NOT_FOUND"},
      {kNotReady, "CUDA_ERROR_NOT_READY"},
      {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED"},
      {kUnknown, "CUDA_ERROR_UNKNOWN"},
  };
  for (const Named& named : kNames) {
    if (named.code != code) continue;
    *name = named.name;
    return kSuccess;
  }
  return kInvalidValue;
}

extern "C" Code cuDeviceGetCount(int* count) {
  const State* const attached = Attached();
  if (attached == nullptr) return kNotInitialized;
  *count = static_cast<int>(attached->count);
  return kSuccess;
}

extern "C" Code cuDeviceGet(Device* device, int ordinal) {
  Gpu* gpu = nullptr;
  *device = ordinal;
  return Find(ordinal, &gpu);
}

extern "C" Code cuDeviceGetUuid(Uuid* uuid, Device device) {
  Gpu* gpu = nullptr;
  if (const Code code = Find(device, &gpu); code != kSuccess) return code;
  int byte = 0;
  for (const char* at = gpu->identity.uuid + std::strlen("GPU-"); *at != '\0' && byte < 16; ++byte) {
    if (*at == '-') ++at;
    unsigned value = 0;
    if (std::sscanf(at, "%2x", &value) != 1) return kUnknown;
    uuid->bytes[byte] = static_cast<char>(value);
    at += 2;
  }
  return kSuccess;
}

extern "C" Code cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  Gpu* gpu = nullptr;
  if (const Code code = Find(device, &gpu); code != kSuccess) return code;
  switch (attribute) {
    case kMultiprocessorCount:
      *value = shadow::gpu::kMultiprocessors;
      return kSuccess;
    case kMaxSharedMemoryPerBlockOptin:
      *value = kSharedBytes;
      return kSuccess;
    case kMaxThreadsPerBlock:
      *value = kThreads;
      return kSuccess;
    case kComputeMode:
      *value = 0;
      return kSuccess;
  }
  return kInvalidValue;
}

extern "C" Code cuCtxCreate_v2(Context* context, unsigned /*flags*/, Device device) {
  Gpu* gpu = nullptr;
  if (const Code code = Find(device, &gpu); code != kSuccess) return code;
  if (gpu->lost.load() != 0) return kUnknown;
  auto* const made = static_cast<ContextHandle*>(std::calloc(1, sizeof(ContextHandle)));
  if (made == nullptr) return kOutOfMemory;
  made->gpu = gpu;
  if (!made->stream.Begin(Attached(), gpu)) {
    std::free(made);
    return kOutOfMemory;
  }
  Count(*gpu, 1);
  *context = current = made;
  return kSuccess;
}

extern "C" Code cuCtxDestroy_v2(Context context) {
  if (context == nullptr) return kInvalidContext;
  context->stream.End();
  Count(*context->gpu, -1);
  if (current == context) current = nullptr;
  std::free(context);
  return kSuccess;
}

extern "C" Code cuCtxGetCurrent(Context* context) {
  *context = current;
  return Attached() == nullptr ? kNotInitialized : kSuccess;
}

extern "C" Code cuMemHostAlloc(void** memory, size_t bytes, unsigned /*flags*/) {
  if (current == nullptr) return kInvalidContext;
  *memory = std::calloc(1, bytes);
  return *memory == nullptr ? kOutOfMemory : kSuccess;
}

extern "C" Code cuMemFreeHost(void* memory) {
  std::free(memory);
  return kSuccess;
}

// Whole pages, as the driver's.
extern "C" Code cuMemHostRegister_v2(void* memory, size_t bytes, unsigned /*flags*/) {
  if (current == nullptr) return kInvalidContext;
  return memory == nullptr || bytes == 0 ? kInvalidValue : kSuccess;
}

extern "C" Code cuMemHostUnregister(void* memory) { return memory == nullptr ? kInvalidValue : kSuccess; }

extern "C" Code cuMemHostGetDevicePointer_v2(DeviceMemory* device, void* memory, unsigned flags) {
  if (flags != 0) return kInvalidValue;
  *device = reinterpret_cast<DeviceMemory>(memory);
  return kSuccess;
}

// An address that nobody may touch, and so costs nothing: no kernel reads it here. Its size stands before it.
extern "C" Code cuMemAlloc_v2(DeviceMemory* memory, size_t bytes) {
  if (current == nullptr) return kInvalidContext;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const made = mmap(nullptr, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return kOutOfMemory;
  if (mprotect(made, page, PROT_READ | PROT_WRITE) != 0) return kOutOfMemory;
  *static_cast<size_t*>(made) = bytes + page;
  *memory = reinterpret_cast<DeviceMemory>(made) + page;
  return kSuccess;
}

extern "C" Code cuMemFree_v2(DeviceMemory memory) {
  if (memory == 0) return kSuccess;
  void* const made = reinterpret_cast<void*>(memory - static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  munmap(made, *static_cast<size_t*>(made));
  return kSuccess;
}

extern "C" Code cuModuleLoadData(Module* module, const void* image) {
  if (current == nullptr) return kInvalidContext;
  const char* const text = static_cast<const char*>(image);
  if (std::strstr(text, ".version") == nullptr || std::strstr(text, ".target sm_") == nullptr) return kInvalidPtx;
  auto* const made = static_cast<ModuleHandle*>(std::calloc(1, sizeof(ModuleHandle)));
  if (made == nullptr || (made->text = strdup(text)) == nullptr) return kOutOfMemory;
  *module = made;
  return kSuccess;
}

extern "C" Code cuModuleUnload(Module module) {
  if (module == nullptr) return kInvalidHandle;
  std::free(module->text);
  std::free(module);
  return kSuccess;
}

extern "C" Code cuModuleGetFunction(Function* function, Module module, const char* name) {
  char entry[128];
  std::snprintf(entry, sizeof entry, ".entry %s(", name);
  if (module == nullptr || std::strstr(module->text, entry) == nullptr) return kNotFound;
  const Kernel kernel = shadow::gpu::cuda::KernelNamed(name);
  if (kernel == Kernel::kNone) return kNotSupported;
  *function = kernel == Kernel::kBurn ? &burn : &hang;
  return kSuccess;
}

extern "C" Code cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
  if (function == nullptr) return kInvalidHandle;
  const bool known = attribute == kMaxDynamicSharedBytes && value >= 0 && value <= kSharedBytes;
  return known ? kSuccess : kInvalidValue;
}

extern "C" Code cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** parameters,
                               void** extra) {
  if (const Code code = CheckStream(stream); code != kSuccess) return code;
  if (function == nullptr) return kInvalidHandle;
  const bool shaped = grid_x > 0 && grid_y == 1 && grid_z == 1 && block_x > 0 && block_x <= kThreads && block_y == 1 &&
                      block_z == 1 && shared <= kSharedBytes && parameters != nullptr && extra == nullptr;
  if (!shaped) return kInvalidValue;
  Work work;
  work.kernel = function->kernel;
  work.grid = grid_x;
  if (work.kernel == Kernel::kBurn) {
    work.stop = Parameter<const kernels::Word32*>(parameters, 0);
    work.blocks = Parameter<kernels::BurnBlock*>(parameters, 1);
    work.bounds = Parameter<kernels::BurnBounds>(parameters, 2);
  } else {
    work.armed = Parameter<const kernels::Word32*>(parameters, 0);
    work.bit = Parameter<kernels::Word32>(parameters, 1);
    work.state = Parameter<kernels::Word32*>(parameters, 2);
    work.life_ns = Parameter<kernels::Word64>(parameters, 3);
  }
  return current->stream.Add(work) ? kSuccess : kOutOfMemory;
}

extern "C" Code cuStreamQuery(Stream stream) {
  if (const Code code = CheckStream(stream); code != kSuccess) return code;
  return current->stream.Idle() ? kSuccess : kNotReady;
}

extern "C" Code cuStreamSynchronize(Stream stream) {
  if (const Code code = CheckStream(stream); code != kSuccess) return code;
  current->stream.WaitUntilIdle();
  return CheckStream(stream);
}

extern "C" Code cuStreamIsCapturing(Stream stream, CaptureStatus* status) {
  *status = kCaptureNone;
  return CheckStream(stream);
}

extern "C" Code cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  static __thread CaptureMode of_thread = kCaptureGlobal;
  const CaptureMode before = of_thread;
  of_thread = *mode;
  *mode = before;
  return kSuccess;
}

}  // namespace triodrill::cuda
