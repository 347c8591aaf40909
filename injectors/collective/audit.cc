// libtriodrill_nccl_audit.so, for LD_AUDIT: binds every reference to a wrapped function of NCCL to the preloaded shim,
// also those that preloading does not reach: a program that loads NCCL with dlopen and asks for its symbols by dlsym
// (Python's ctypes, for one), an object with its own scope (RTLD_LOCAL, RTLD_DEEPBIND), another namespace. Tells the
// shim what each would have been bound to. Called by the dynamic loader, under its lock; costs nothing a call. Without
// the shim in the process it changes nothing.
#include <link.h>

#include <atomic>
#include <cstring>

#include "injectors/collective/elf_symbols.h"
#include "injectors/collective/wrapped.h"

#define TRIODRILL_EXPORT extern "C" __attribute__((visibility("default")))

namespace triodrill::collective {
namespace {

constexpr char kShim[] = "libtriodrill_nccl.so";

const link_map* shim = nullptr;
const uintptr_t* shim_cookie = nullptr;
uintptr_t ours[kWrappedFunctions];
std::atomic<void*>* real = nullptr;

bool IsShim(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return std::strncmp(slash == nullptr ? path : slash + 1, kShim, sizeof(kShim) - 1) == 0;
}

int Find(const char* name) {
  if (std::strncmp(name, "nccl", 4) != 0) return kWrappedFunctions;
  int i = 0;
  while (i < kWrappedFunctions && std::strcmp(name, kWrappedNames[i]) != 0) ++i;
  return i;
}

uintptr_t Bound(uintptr_t address, const uintptr_t* from, const uintptr_t* to, const char* name) {
  const int function = Find(name);
  if (function == kWrappedFunctions || shim == nullptr || from == shim_cookie || to == shim_cookie) return address;
  if (ours[function] == 0) ours[function] = FindSymbol(*shim, name);
  if (real == nullptr) real = AtAddress<std::atomic<void*>>(FindSymbol(*shim, kRealSymbol));
  if (ours[function] == 0 || real == nullptr) return address;
  void* nothing = nullptr;
  real[function].compare_exchange_strong(nothing, AtAddress<void>(address), std::memory_order_acq_rel);
  return ours[function];
}

}  // namespace
}  // namespace triodrill::collective

TRIODRILL_EXPORT unsigned int la_version(unsigned int version) { return version; }

TRIODRILL_EXPORT unsigned int la_objopen(link_map* object, Lmid_t /*space*/, uintptr_t* cookie) {
  if (!triodrill::collective::IsShim(object->l_name)) return LA_FLG_BINDTO | LA_FLG_BINDFROM;
  triodrill::collective::shim = object;
  triodrill::collective::shim_cookie = cookie;
  // What the shim itself asks for is never bound back to it.
  return LA_FLG_BINDTO;
}

TRIODRILL_EXPORT uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned int /*index*/, uintptr_t* from, uintptr_t* to,
                                        unsigned int* /*flags*/, const char* name) {
  return triodrill::collective::Bound(symbol->st_value, from, to, name);
}
