#include "drills/shadow/gpu/nvml_driver.h"

#include <pthread.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>

#include "drills/shadow/gpu/beside.h"

namespace triodrill::shadow::gpu::nvml {
namespace {

struct Driver {
  State* state = nullptr;
  bool writable = false;
  dev_t device = 0;
  ino_t inode = 0;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
unsigned users = 0;  // under the lock
Driver driver;       // under the lock; kept when the last user has gone
std::atomic<State*> attached{nullptr};
std::atomic<bool> may_set{false};

Return Attach() {
  const char* const path = StatePath();
  struct stat facts {};
  if (path == nullptr || stat(path, &facts) != 0) return kDriverNotLoaded;
  if (driver.state == nullptr || driver.device != facts.st_dev || driver.inode != facts.st_ino) {
    const Mapping mapping = MapState(path, false);
    if (mapping.state == nullptr) return kDriverNotLoaded;
    driver = {mapping.state, mapping.writable, facts.st_dev, facts.st_ino};
  }
  may_set = driver.writable;
  attached = driver.state;
  return kSuccess;
}

}  // namespace

State* Attached() { return attached.load(); }

Return Find(Device device, Gpu** gpu) {
  State* const state = Attached();
  if (state == nullptr) return kUninitialized;
  const uintptr_t number = reinterpret_cast<uintptr_t>(device);
  if (number < 1 || number > state->count) return kInvalidArgument;
  *gpu = &state->gpus[number - 1];
  return (*gpu)->lost.load() != 0 ? kGpuIsLost : kSuccess;
}

Return FindToSet(Device device, Gpu** gpu) {
  const Return found = Find(device, gpu);
  if (found != kSuccess) return found;
  return !may_set || Attached()->deny_set.load() != 0 ? kNoPermission : kSuccess;
}

extern "C" Return triodrillShadowSetLost(const char* uuid, unsigned lost) {
  State* const state = Attached();
  if (state == nullptr) return kUninitialized;
  if (uuid == nullptr || lost > 1) return kInvalidArgument;
  for (uint32_t index = 0; index < state->count; ++index) {
    Gpu& gpu = state->gpus[index];
    if (std::strcmp(gpu.identity.uuid, uuid) != 0) continue;
    if (!may_set) return kNoPermission;
    if (gpu.lost.exchange(lost) == 0 && lost != 0) PublishXid(*state, gpu, kXidGpuLost);
    return kSuccess;
  }
  return kNotFound;
}

extern "C" Return nvmlInit_v2() {
  pthread_mutex_lock(&lock);
  const Return result = users > 0 ? kSuccess : Attach();
  if (result == kSuccess) ++users;
  pthread_mutex_unlock(&lock);
  return result;
}

extern "C" Return nvmlShutdown() {
  pthread_mutex_lock(&lock);
  const Return result = users > 0 ? kSuccess : kUninitialized;
  if (users > 0 && --users == 0) attached = nullptr;
  pthread_mutex_unlock(&lock);
  return result;
}

extern "C" const char* nvmlErrorString(Return result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kUninitialized:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNoPermission:
      return "Insufficient Permissions";
    case kNotFound:
      return "Not Found";
    case kInsufficientSize:
      return "Insufficient Size";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case kTimeout:
      return "Timeout";
    case kFunctionNotFound:
      return "Function Not Found";
    case kGpuIsLost:
      return "GPU is lost";
    case kMemory:
      return "Insufficient Memory";
    case kUnknown:
      break;
  }
  return "Unknown Error";
}

}  // namespace triodrill::shadow::gpu::nvml
