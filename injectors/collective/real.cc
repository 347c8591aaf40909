#include "injectors/collective/real.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>

#include "injectors/collective/elf_symbols.h"

// Written by the audit library, which finds it by its name.
extern "C" __attribute__((visibility("default"))) std::atomic<void*>
    triodrill_nccl_real[triodrill::collective::kWrappedFunctions];
std::atomic<void*> triodrill_nccl_real[triodrill::collective::kWrappedFunctions];

namespace triodrill::collective {
namespace {

bool IsOurs(const void* address) {
  Dl_info theirs{};
  Dl_info ours{};
  return ::dladdr(address, &theirs) != 0 && ::dladdr(&triodrill_nccl_real, &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

void* NotOurs(void* address) { return address != nullptr && !IsOurs(address) ? address : nullptr; }

// As the object of that name sees it, with what it needs. It is loaded already.
void* SeenBy(const char* object, const char* name) {
  void* const handle = ::dlopen(object, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const found = NotOurs(::dlsym(handle, name));
  ::dlclose(handle);
  return found;
}

}  // namespace

void* FindReal(Wrapped function, const void* caller) {
  const char* const name = kWrappedNames[function];
  if (void* const hint = NotOurs(triodrill_nccl_real[function].load(std::memory_order_acquire)); hint != nullptr) {
    return hint;
  }
  Dl_info from{};
  if (caller != nullptr && ::dladdr(caller, &from) != 0 && from.dli_fname != nullptr) {
    if (void* const found = SeenBy(from.dli_fname, name); found != nullptr) return found;
  }
  if (void* const found = NotOurs(::dlsym(RTLD_NEXT, name)); found != nullptr) return found;
  if (void* const found = SeenBy("libnccl.so.2", name); found != nullptr) return found;
  std::fprintf(stderr, "libtriodrill_nccl: there is no %s in this process; the call fails\n", name);
  return nullptr;
}

void* FindBeside(const void* address, const char* name) {
  Dl_info info{};
  link_map* object = nullptr;
  if (::dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 || object == nullptr) {
    return nullptr;
  }
  return AtAddress<void>(FindSymbol(*object, name));
}

}  // namespace triodrill::collective
