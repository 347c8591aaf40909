// The few functions of the CUDA driver that are called here: facts of the binary interface (values, signatures, the
// versioned names that libcuda.so.1 exports), in declarations of our own, so that nothing of a vendor is needed to
// build. One list feeds whoever loads the driver, the stand-in that the shadow GPUs have, and a test that holds it
// against the vendor's header where there is one.
#pragma once

#include <cstddef>

namespace triodrill::cuda {

enum Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kNotSupported = 801,
  kCaptureImplicit = 906,
  kUnknown = 999,
};

enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMultiprocessorCount = 16,
  kComputeMode = 20,
  kMaxSharedMemoryPerBlockOptin = 97,
};
enum FunctionAttribute : int { kMaxDynamicSharedBytes = 8 };
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
enum CaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };

inline constexpr unsigned kContextBlockingSync = 0x04;  // of cuCtxCreate
inline constexpr unsigned kContextMapHost = 0x08;
inline constexpr unsigned kHostPortable = 0x01;  // of cuMemHostAlloc and cuMemHostRegister
inline constexpr unsigned kHostDeviceMap = 0x02;

struct ContextHandle;
struct ModuleHandle;
struct FunctionHandle;
struct StreamHandle;
using Context = ContextHandle*;
using Module = ModuleHandle*;
using Function = FunctionHandle*;
using Stream = StreamHandle*;
using Device = int;
using DeviceMemory = unsigned long long;

// The stream that all blocking streams of a context wait for.
inline Stream LegacyStream() { return reinterpret_cast<Stream>(0x1); }

struct Uuid {
  char bytes[16];
};

static_assert(sizeof(Code) == 4 && sizeof(DeviceMemory) == 8 && sizeof(Uuid) == 16 && sizeof(Context) == 8);

}  // namespace triodrill::cuda

// X(symbol, (parameters)): functions that return CUresult.
#define TRIODRILL_CUDA_CALLS(X)                                                                               \
  X(cuInit, (unsigned))                                                                                       \
  X(cuGetErrorName, (Code, const char**))                                                                     \
  X(cuDeviceGetCount, (int*))                                                                                 \
  X(cuDeviceGet, (Device*, int))                                                                              \
  X(cuDeviceGetUuid, (Uuid*, Device))                                                                         \
  X(cuDeviceGetAttribute, (int*, DeviceAttribute, Device))                                                    \
  X(cuCtxCreate_v2, (Context*, unsigned, Device))                                                             \
  X(cuCtxDestroy_v2, (Context))                                                                               \
  X(cuCtxGetCurrent, (Context*))                                                                              \
  X(cuMemHostAlloc, (void**, size_t, unsigned))                                                               \
  X(cuMemFreeHost, (void*))                                                                                   \
  X(cuMemHostRegister_v2, (void*, size_t, unsigned))                                                          \
  X(cuMemHostUnregister, (void*))                                                                             \
  X(cuMemHostGetDevicePointer_v2, (DeviceMemory*, void*, unsigned))                                           \
  X(cuMemAlloc_v2, (DeviceMemory*, size_t))                                                                   \
  X(cuMemFree_v2, (DeviceMemory))                                                                             \
  X(cuModuleLoadData, (Module*, const void*))                                                                 \
  X(cuModuleUnload, (Module))                                                                                 \
  X(cuModuleGetFunction, (Function*, Module, const char*))                                                    \
  X(cuFuncSetAttribute, (Function, FunctionAttribute, int))                                                   \
  X(cuLaunchKernel,                                                                                           \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**)) \
  X(cuStreamQuery, (Stream))                                                                                  \
  X(cuStreamSynchronize, (Stream))                                                                            \
  X(cuStreamIsCapturing, (Stream, CaptureStatus*))                                                            \
  X(cuThreadExchangeStreamCaptureMode, (CaptureMode*))

namespace triodrill::cuda {

// As found in the library; null: it does not have it.
struct Calls {
#define TRIODRILL_POINTER(symbol, parameters) Code(*symbol) parameters = nullptr;
  TRIODRILL_CUDA_CALLS(TRIODRILL_POINTER)
#undef TRIODRILL_POINTER
};

}  // namespace triodrill::cuda
