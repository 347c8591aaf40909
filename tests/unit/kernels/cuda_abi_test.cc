// Our declarations of the CUDA driver against the vendor's header, where this machine has it; nothing of it is needed
// to build.
#include "triodrill/kernels/cuda_abi.h"

#include <gtest/gtest.h>

#include <type_traits>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace triodrill::cuda {
namespace {

static_assert(int{kSuccess} == CUDA_SUCCESS);
static_assert(int{kInvalidValue} == CUDA_ERROR_INVALID_VALUE);
static_assert(int{kOutOfMemory} == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(int{kNotInitialized} == CUDA_ERROR_NOT_INITIALIZED);
static_assert(int{kNoDevice} == CUDA_ERROR_NO_DEVICE);
static_assert(int{kInvalidDevice} == CUDA_ERROR_INVALID_DEVICE);
static_assert(int{kInvalidContext} == CUDA_ERROR_INVALID_CONTEXT);
static_assert(int{kInvalidPtx} == CUDA_ERROR_INVALID_PTX);
static_assert(int{kInvalidHandle} == CUDA_ERROR_INVALID_HANDLE);
static_assert(int{kNotFound} == CUDA_ERROR_NOT_FOUND);
static_assert(int{kNotReady} == CUDA_ERROR_NOT_READY);
static_assert(int{kNotSupported} == CUDA_ERROR_NOT_SUPPORTED);
static_assert(int{kCaptureImplicit} == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
static_assert(int{kUnknown} == CUDA_ERROR_UNKNOWN);
static_assert(int{kMaxThreadsPerBlock} == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(int{kMultiprocessorCount} == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(int{kComputeMode} == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
static_assert(int{kMaxSharedMemoryPerBlockOptin} == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(int{kMaxDynamicSharedBytes} == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(int{kCaptureNone} == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(int{kCaptureActive} == CU_STREAM_CAPTURE_STATUS_ACTIVE);
static_assert(int{kCaptureRelaxed} == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(kContextBlockingSync == CU_CTX_SCHED_BLOCKING_SYNC);
static_assert(kContextMapHost == CU_CTX_MAP_HOST);
static_assert(kHostPortable == CU_MEMHOSTALLOC_PORTABLE && kHostPortable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(kHostDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP && kHostDeviceMap == CU_MEMHOSTREGISTER_DEVICEMAP);
static_assert(sizeof(Device) == sizeof(CUdevice) && sizeof(DeviceMemory) == sizeof(CUdeviceptr));
static_assert(sizeof(Uuid) == sizeof(CUuuid) && sizeof(Code) == sizeof(CUresult));

// As they are passed: our types stand for theirs one by one.
template <typename Ours, typename Theirs>
constexpr bool kPassedAlike = std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs);

template <typename Ours, typename Theirs>
struct Alike : std::false_type {};
template <typename... Ours, typename... Theirs>
struct Alike<Code (*)(Ours...), CUresult (*)(Theirs...)>
    : std::bool_constant<sizeof...(Ours) == sizeof...(Theirs) && (kPassedAlike<Ours, Theirs> && ...)> {};

// Where the header has another version under the name, the name that it gives to ours is not there to be compared.
#undef cuCtxCreate
#undef cuDeviceGetUuid
#define TRIODRILL_ALIKE(symbol) static_assert(Alike<decltype(Calls::symbol), decltype(&::symbol)>::value)
TRIODRILL_ALIKE(cuInit);
TRIODRILL_ALIKE(cuGetErrorName);
TRIODRILL_ALIKE(cuDeviceGetCount);
TRIODRILL_ALIKE(cuDeviceGet);
TRIODRILL_ALIKE(cuDeviceGetAttribute);
TRIODRILL_ALIKE(cuCtxDestroy_v2);
TRIODRILL_ALIKE(cuCtxGetCurrent);
TRIODRILL_ALIKE(cuMemHostAlloc);
TRIODRILL_ALIKE(cuMemFreeHost);
TRIODRILL_ALIKE(cuMemHostRegister_v2);
TRIODRILL_ALIKE(cuMemHostUnregister);
TRIODRILL_ALIKE(cuMemHostGetDevicePointer_v2);
TRIODRILL_ALIKE(cuMemAlloc_v2);
TRIODRILL_ALIKE(cuMemFree_v2);
TRIODRILL_ALIKE(cuModuleLoadData);
TRIODRILL_ALIKE(cuModuleUnload);
TRIODRILL_ALIKE(cuModuleGetFunction);
TRIODRILL_ALIKE(cuFuncSetAttribute);
TRIODRILL_ALIKE(cuLaunchKernel);
TRIODRILL_ALIKE(cuStreamQuery);
TRIODRILL_ALIKE(cuStreamSynchronize);
TRIODRILL_ALIKE(cuStreamIsCapturing);
TRIODRILL_ALIKE(cuThreadExchangeStreamCaptureMode);

TEST(CudaAbi, IsTheVendors) { EXPECT_EQ(reinterpret_cast<CUstream>(LegacyStream()), CU_STREAM_LEGACY); }

}  // namespace
}  // namespace triodrill::cuda

#else

TEST(CudaAbi, IsTheVendors) { GTEST_SKIP() << "this machine does not have the vendor's cuda.h"; }

#endif
