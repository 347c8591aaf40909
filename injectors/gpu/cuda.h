// The CUDA driver, loaded when a fault wants to launch a kernel, and one GPU of it, named by UUID. For programs of
// their own only: a driver that was initialised cannot be got rid of, and holds a context's memory on the GPU. One
// thread. Whatever way the process ends, the driver takes back all of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/kernels/cuda_abi.h"
#include "triodrill/status.h"

namespace triodrill {

// The driver that belongs to an NVML library: beside it, if that has a path and one is there; else as the dynamic
// linker finds it.
std::string CudaLibraryFor(const std::string& nvml_library);

// Ok if it is there and has what is called. Does not initialise it.
Status CheckCudaLibrary(const std::string& library);

// The UUIDs of the GPUs that it has. Initialises it.
Result<std::vector<std::string>> ListCudaGpus(const std::string& library);

// "GPU-…", as NVML spells it.
std::string UuidText(const cuda::Uuid& uuid);

// A context on one GPU, current on the thread that opened it.
class CudaGpu {
 public:
  static Result<std::unique_ptr<CudaGpu>> Open(const std::string& library, const std::string& uuid);
  ~CudaGpu();
  CudaGpu(const CudaGpu&) = delete;
  CudaGpu& operator=(const CudaGpu&) = delete;

  const cuda::Calls& calls() const { return calls_; }
  const std::string& uuid() const { return uuid_; }
  int multiprocessors() const { return multiprocessors_; }
  int shared_bytes() const { return shared_bytes_; }  // the most that a block may ask for

  // The status of a call: "launch the burn on GPU-…: CUDA_ERROR_… (2)".
  Status Check(std::string_view operation, cuda::Code code) const;

 private:
  CudaGpu(const cuda::Calls& calls, std::string uuid) : calls_(calls), uuid_(std::move(uuid)) {}
  Result<cuda::Device> Find() const;

  const cuda::Calls calls_;
  const std::string uuid_;
  cuda::Context context_ = nullptr;
  int multiprocessors_ = 0;
  int shared_bytes_ = 0;
};

}  // namespace triodrill
