// A directory with two shadow GPUs and links to both of their stand-in libraries, as a node of the embedded partition
// has it, gone with the test; and a process that computes on one of them.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "drills/shadow/gpu/beside.h"
#include "injectors/gpu/nvml.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/shadow_gpu/gpu_dir.h"

namespace triodrill::testing {

// A process that holds GPU 1 of two, until its end.
inline Child ComputingOnGpu(const std::string& file) {
  return Child([file] {
    const auto held = shadow::gpu::HeldGpu::Open(file, 1);
    while (held.ok()) ::pause();
  });
}

class ShadowGpus {
 public:
  // From now on faults find these.
  ShadowGpus() {
    std::filesystem::create_symlink(TRIODRILL_SHADOW_NVML, nvml());
    std::filesystem::create_symlink(TRIODRILL_SHADOW_CUDA, cuda());
    SetNvmlLibrary(nvml());
    // A library is loaded once for all links to it, and would look for its state beside the first.
    ::setenv(shadow::gpu::kStateVariable, file().c_str(), 1);
  }
  ~ShadowGpus() { ::unsetenv(shadow::gpu::kStateVariable); }
  ShadowGpus(const ShadowGpus&) = delete;
  ShadowGpus& operator=(const ShadowGpus&) = delete;

  const std::string& dir() const { return gpus_.dir(); }
  std::string file() const { return gpus_.file(); }
  std::string nvml() const { return dir() + "/libnvidia-ml.so.1"; }
  std::string cuda() const { return dir() + "/libcuda.so.1"; }
  shadow::gpu::Gpu& operator[](int gpu) const { return (*state_)->gpus[gpu]; }

  // Until a process holds GPU 1.
  bool Held() const {
    return Eventually([&] { return (*this)[1].processes[0] != 0; });
  }

 private:
  const shadow::gpu::GpuDir gpus_;
  const Result<shadow::gpu::MappedState> state_ = shadow::gpu::MappedState::Open(gpus_.file(), true);
};

}  // namespace triodrill::testing
