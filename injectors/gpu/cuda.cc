#include "injectors/gpu/cuda.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_format.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr const char* kName = "libcuda.so.1";

Result<void*> Load(const std::string& library, int how) {
  void* const loaded = ::dlopen(library.c_str(), how | RTLD_LOCAL);
  if (loaded != nullptr) return loaded;
  const char* const text = ::dlerror();
  return absl::UnavailableError(Cat("load the CUDA driver: ", text == nullptr ? "unknown error" : text));
}

Result<cuda::Calls> LookUp(void* loaded, const std::string& library) {
  cuda::Calls calls;
  std::string missing;
#define TRIODRILL_LOOK_UP(symbol, parameters)                                        \
  calls.symbol = reinterpret_cast<decltype(calls.symbol)>(::dlsym(loaded, #symbol)); \
  if (calls.symbol == nullptr) missing += " " #symbol;
  TRIODRILL_CUDA_CALLS(TRIODRILL_LOOK_UP)
#undef TRIODRILL_LOOK_UP
  if (missing.empty()) return calls;
  return absl::UnavailableError(
      Cat("load the CUDA driver ", library, ": it does not have", missing, "; use a newer driver"));
}

}  // namespace

std::string CudaLibraryFor(const std::string& nvml_library) {
  if (nvml_library.find('/') == std::string::npos) return kName;
  const std::string beside = (std::filesystem::path(nvml_library).parent_path() / kName).string();
  return ::access(beside.c_str(), R_OK) == 0 ? beside : kName;
}

Status CheckCudaLibrary(const std::string& library) {
  TRIODRILL_ASSIGN_OR_RETURN(void* const loaded, Load(library, RTLD_LAZY));
  const Status found = LookUp(loaded, library).status();
  ::dlclose(loaded);
  return found;
}

std::string UuidText(const cuda::Uuid& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += "-";
    text += absl::StrFormat("%02x", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

Result<std::vector<std::string>> ListCudaGpus(const std::string& library) {
  TRIODRILL_ASSIGN_OR_RETURN(void* const loaded, Load(library, RTLD_NOW));
  TRIODRILL_ASSIGN_OR_RETURN(const cuda::Calls calls, LookUp(loaded, library));
  int count = 0;
  cuda::Code code = calls.cuInit(0);
  if (code == cuda::kSuccess) code = calls.cuDeviceGetCount(&count);
  if (code != cuda::kSuccess) {
    return absl::UnavailableError(Cat("list the GPUs of ", library, ": the driver answers ", static_cast<int>(code)));
  }
  std::vector<std::string> uuids;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cuda::Device device = 0;
    cuda::Uuid uuid{};
    if (calls.cuDeviceGet(&device, ordinal) != cuda::kSuccess) continue;
    if (calls.cuDeviceGetUuid(&uuid, device) == cuda::kSuccess) uuids.push_back(UuidText(uuid));
  }
  return uuids;
}

Status CudaGpu::Check(std::string_view operation, cuda::Code code) const {
  if (code == cuda::kSuccess) return Ok();
  const char* name = nullptr;
  if (calls_.cuGetErrorName(code, &name) != cuda::kSuccess || name == nullptr) name = "CUDA error";
  return absl::AbortedError(Cat(operation, " on ", uuid_, ": ", name, " (", static_cast<int>(code), ")"));
}

Result<cuda::Device> CudaGpu::Find() const {
  int count = 0;
  TRIODRILL_RETURN_IF_ERROR(Check("initialise the CUDA driver", calls_.cuInit(0)));
  TRIODRILL_RETURN_IF_ERROR(Check("count the GPUs", calls_.cuDeviceGetCount(&count)));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cuda::Device device = 0;
    cuda::Uuid uuid{};
    if (calls_.cuDeviceGet(&device, ordinal) != cuda::kSuccess) continue;
    if (calls_.cuDeviceGetUuid(&uuid, device) == cuda::kSuccess && UuidText(uuid) == uuid_) return device;
  }
  return absl::NotFoundError(Cat("find ", uuid_, " among the GPUs of the CUDA driver: it is none of ", count,
                                 "; is CUDA_VISIBLE_DEVICES set for the agent?"));
}

Result<std::unique_ptr<CudaGpu>> CudaGpu::Open(const std::string& library, const std::string& uuid) {
  TRIODRILL_ASSIGN_OR_RETURN(void* const loaded, Load(library, RTLD_NOW));
  TRIODRILL_ASSIGN_OR_RETURN(const cuda::Calls calls, LookUp(loaded, library));
  std::unique_ptr<CudaGpu> gpu(new CudaGpu(calls, uuid));
  TRIODRILL_ASSIGN_OR_RETURN(const cuda::Device device, gpu->Find());
  TRIODRILL_RETURN_IF_ERROR(
      gpu->Check("count the multiprocessors",
                 calls.cuDeviceGetAttribute(&gpu->multiprocessors_, cuda::kMultiprocessorCount, device)));
  TRIODRILL_RETURN_IF_ERROR(
      gpu->Check("read the size of shared memory",
                 calls.cuDeviceGetAttribute(&gpu->shared_bytes_, cuda::kMaxSharedMemoryPerBlockOptin, device)));
  constexpr unsigned kFlags = cuda::kContextMapHost | cuda::kContextBlockingSync;
  TRIODRILL_RETURN_IF_ERROR(gpu->Check("make a context", calls.cuCtxCreate_v2(&gpu->context_, kFlags, device)));
  return gpu;
}

CudaGpu::~CudaGpu() {
  if (context_ != nullptr) calls_.cuCtxDestroy_v2(context_);
}

}  // namespace triodrill
