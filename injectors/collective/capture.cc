#include "injectors/collective/capture.h"

#include <dlfcn.h>

#include <atomic>

namespace triodrill::collective {
namespace {

// CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus*): 0 = success; status 0 = none.
using Ask = int (*)(nccl::Stream, int*);
std::atomic<Ask> ask{nullptr};

Ask FindAsk() {
  Ask found = ask.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  found = reinterpret_cast<Ask>(::dlsym(driver, "cuStreamIsCapturing"));
  ::dlclose(driver);
  ask.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace

bool IsCaptured(nccl::Stream stream) {
  const Ask found = FindAsk();
  if (found == nullptr) return false;
  int status = 1;
  return found(stream, &status) != 0 || status != 0;
}

}  // namespace triodrill::collective
