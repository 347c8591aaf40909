#include "drills/shadow/trainer/gpu_stream.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "drills/shadow/gpu/beside.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {

Result<GpuStream> GpuStream::Open(const std::string& library, const std::string& state_file, int index) {
  setenv(gpu::kStateVariable, state_file.c_str(), 1);
  void* const driver = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return absl::UnavailableError(Cat("load the driver of the shadow GPUs: ", dlerror()));
  cuda::Calls calls;
  bool whole = true;
#define TRIODRILL_LOOK_UP(symbol, parameters)                                      \
  calls.symbol = reinterpret_cast<decltype(calls.symbol)>(dlsym(driver, #symbol)); \
  whole = whole && calls.symbol != nullptr;
  TRIODRILL_CUDA_CALLS(TRIODRILL_LOOK_UP)
#undef TRIODRILL_LOOK_UP
  if (!whole) return absl::UnavailableError(Cat("load ", library, ": it is not the driver of the shadow GPUs"));
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  cuda::Code code = calls.cuInit(0);
  if (code == cuda::kSuccess) code = calls.cuDeviceGet(&device, index);
  if (code == cuda::kSuccess) code = calls.cuCtxCreate_v2(&context, 0, device);
  if (code == cuda::kSuccess) return GpuStream(calls);
  return absl::UnavailableError(Cat("make a context on GPU ", index, ": CUDA code ", static_cast<int>(code)));
}

std::string StandInDriver(const std::string& libdir) {
  std::error_code error;
  const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path installed = bin / ".." / libdir / "triodrill/shadow-gpu/libcuda.so.1";
  return (std::filesystem::exists(installed, error) ? installed : bin / "../shadow-gpu/libcuda.so.1").string();
}

}  // namespace triodrill::shadow::trainer
