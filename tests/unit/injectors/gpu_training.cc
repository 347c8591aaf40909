#include "tests/unit/injectors/gpu_training.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <thread>

#include "triodrill/kernels/cuda_abi.h"
#include "triodrill/workload.h"

namespace triodrill::testing {

GpuTraining::Counts* GpuTraining::Share() {
  void* const memory = ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::abort();
  return new (memory) Counts;
}

void GpuTraining::Train(const std::string& cuda, bool on_gpu, Counts& counts) {
  void* const driver = ::dlopen(cuda.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) ::_exit(1);
  cuda::Calls calls;
#define TRIODRILL_LOOK_UP(symbol, parameters) \
  calls.symbol = reinterpret_cast<decltype(calls.symbol)>(::dlsym(driver, #symbol));
  TRIODRILL_CUDA_CALLS(TRIODRILL_LOOK_UP)
#undef TRIODRILL_LOOK_UP
  cuda::Context context = nullptr;
  if (on_gpu && (calls.cuInit(0) != cuda::kSuccess || calls.cuCtxCreate_v2(&context, 0, 1) != cuda::kSuccess)) {
    ::_exit(1);
  }
  if (triodrill_attach(0, 1) != 0) ::_exit(1);
  const int compute = triodrill_phase_id("compute");
  std::thread([&counts] {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) ++counts.beats;
  }).detach();
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    triodrill_phase(compute);
    calls.cuStreamSynchronize(nullptr);
    triodrill_progress(++counts.steps);
  }
}

GpuTraining::GpuTraining(const std::string& cuda, bool on_gpu)
    : child_([this, cuda, on_gpu] { Train(cuda, on_gpu, *counts_); }) {
  Eventually([this] { return steps() > 0; });
}

}  // namespace triodrill::testing
