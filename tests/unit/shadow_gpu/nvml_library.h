// The stand-in library as a stranger has it: loaded by name, its functions looked up in it.
#pragma once

#include <dlfcn.h>

#include <string>

#include "drills/shadow/gpu/nvml_abi.h"

namespace triodrill::shadow::gpu {

struct NvmlLibrary {
#define TRIODRILL_POINTER(needed, symbol, parameters) decltype(&nvml::symbol) symbol = nullptr;
  TRIODRILL_NVML_FUNCTIONS(TRIODRILL_POINTER)
#undef TRIODRILL_POINTER
  decltype(&nvml::nvmlErrorString) nvmlErrorString = nullptr;
  std::string missing;  // what could not be found

  // Once a process; it stays loaded.
  static const NvmlLibrary& Get() {
    static const NvmlLibrary kLibrary(TRIODRILL_SHADOW_NVML);
    return kLibrary;
  }

 private:
  explicit NvmlLibrary(const char* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      missing = dlerror();
      return;
    }
#define TRIODRILL_LOOK_UP(needed, symbol, parameters)                          \
  symbol = reinterpret_cast<decltype(&nvml::symbol)>(dlsym(library, #symbol)); \
  if (symbol == nullptr) missing += " " #symbol;
    TRIODRILL_NVML_FUNCTIONS(TRIODRILL_LOOK_UP)
#undef TRIODRILL_LOOK_UP
    nvmlErrorString = reinterpret_cast<decltype(&nvml::nvmlErrorString)>(dlsym(library, "nvmlErrorString"));
    if (nvmlErrorString == nullptr) missing += " nvmlErrorString";
  }
};

}  // namespace triodrill::shadow::gpu
