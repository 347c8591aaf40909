#include "triodrill/workload/hang.h"

#include <dlfcn.h>

#include "triodrill/kernels/cuda_abi.h"
#include "triodrill/kernels/hang_ptx.h"
#include "triodrill/kernels/layout.h"

namespace triodrill::workload {
namespace {

// What the driver knows of us. Modules belong to a context; a page is pinned for all of them.
struct OnGpu {
  cuda::Context context;
  cuda::Function function;
};
OnGpu known = {nullptr, nullptr};
Page* pinned = nullptr;
cuda::DeviceMemory pinned_on_gpu = 0;
bool lost_pin = false;  // pages are pinned that are not the page's any more: no hang in this process from then on

// The driver that this process has loaded; false: it has loaded none.
bool FindDriver(cuda::Calls& calls) {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return false;
  bool whole = true;
#define TRIODRILL_LOOK_UP(symbol, parameters)                                        \
  calls.symbol = reinterpret_cast<decltype(calls.symbol)>(::dlsym(driver, #symbol)); \
  whole = whole && calls.symbol != nullptr;
  TRIODRILL_CUDA_CALLS(TRIODRILL_LOOK_UP)
#undef TRIODRILL_LOOK_UP
  ::dlclose(driver);  // its owner keeps it
  return whole;
}

// Somebody may be recording a graph in this thread: what is done meanwhile must neither end that nor get into it.
class Relaxed {
 public:
  explicit Relaxed(const cuda::Calls& calls) : calls_(calls) { calls_.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~Relaxed() { calls_.cuThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  const cuda::Calls& calls_;
  cuda::CaptureMode mode_ = cuda::kCaptureRelaxed;
};

cuda::Code Pin(const cuda::Calls& calls, Page& page) {
  if (pinned == &page) return cuda::kSuccess;
  if (lost_pin) return cuda::kNotSupported;
  constexpr unsigned kFlags = cuda::kHostPortable | cuda::kHostDeviceMap;
  if (const cuda::Code code = calls.cuMemHostRegister_v2(&page, sizeof(Page), kFlags); code != cuda::kSuccess) {
    return code;
  }
  pinned = &page;
  return calls.cuMemHostGetDevicePointer_v2(&pinned_on_gpu, &page, 0);
}

cuda::Code Load(const cuda::Calls& calls, cuda::Context context) {
  if (known.context == context) return cuda::kSuccess;
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  cuda::Code code = calls.cuModuleLoadData(&module, kernels::kHangPtx);
  if (code == cuda::kSuccess) code = calls.cuModuleGetFunction(&function, module, kernels::kHang);
  if (code == cuda::kSuccess) known = {context, function};
  return code;
}

cuda::DeviceMemory OnGpuOf(const Page& page, const void* word) {
  return pinned_on_gpu +
         static_cast<cuda::DeviceMemory>(static_cast<const char*>(word) - reinterpret_cast<const char*>(&page));
}

cuda::Code Launch(const cuda::Calls& calls, cuda::Context context, Page& page, uint32_t bit, Rule& rule,
                  uint64_t life_ns) {
  const Relaxed relaxed(calls);
  cuda::CaptureStatus capturing = cuda::kCaptureNone;
  cuda::Code code = calls.cuStreamIsCapturing(cuda::LegacyStream(), &capturing);
  if (code != cuda::kSuccess) return code;
  if (capturing != cuda::kCaptureNone) return cuda::kCaptureImplicit;
  code = Pin(calls, page);
  if (code == cuda::kSuccess) code = Load(calls, context);
  if (code != cuda::kSuccess) return code;
  cuda::DeviceMemory armed = OnGpuOf(page, &page.armed);
  cuda::DeviceMemory state = OnGpuOf(page, &rule.gpu_state);
  kernels::Word32 mask = bit;
  kernels::Word64 life = life_ns;
  void* parameters[] = {&armed, &mask, &state, &life};
  rule.gpu_state.store(kernels::kHangLaunched, std::memory_order_seq_cst);
  code = calls.cuLaunchKernel(known.function, 1, 1, 1, 1, 1, 1, 0, cuda::LegacyStream(), parameters, nullptr);
  if (code != cuda::kSuccess) rule.gpu_state.store(kernels::kHangNone, std::memory_order_seq_cst);
  return code;
}

}  // namespace

uint32_t HangGpu(Page& page, uint32_t bit, Rule& rule, int64_t life_ns) {
  cuda::Calls calls;
  cuda::Context context = nullptr;
  if (life_ns <= 0 || !FindDriver(calls)) return kNoGpu;
  if (calls.cuCtxGetCurrent(&context) != cuda::kSuccess || context == nullptr) return kNoGpu;
  const cuda::Code code = Launch(calls, context, page, bit, rule, static_cast<uint64_t>(life_ns));
  rule.gpu_code.store(static_cast<uint32_t>(code), std::memory_order_relaxed);
  return code == cuda::kSuccess ? kNoTrouble : kGpuRefused;
}

void LeavePage(Page* page) {
  if (page == nullptr || pinned != page) return;
  cuda::Calls calls;
  pinned = nullptr;
  lost_pin = !FindDriver(calls) || calls.cuMemHostUnregister(page) != cuda::kSuccess;
}

void ForgetGpus() {
  known = {nullptr, nullptr};
  pinned = nullptr;
}

}  // namespace triodrill::workload
