// Where the real NCCL is, however the process came by it. Asked at the first call of each function, on the caller's
// thread; the answer is kept by whoever asks. Nothing is loaded that was not loaded before.
#pragma once

#include "injectors/collective/wrapped.h"

namespace triodrill::collective {

// The function that `caller` would have called without us; nullptr if there is none. In this order: what the audit
// library saw the loader bind, what the caller's own object sees, what stands behind us in the global scope, any
// libnccl.so.2 in the process. (Behind us alone is not enough: there is nothing where NCCL came in by RTLD_LOCAL.)
void* FindReal(Wrapped function, const void* caller);

// A symbol of the object that `address` is in; nullptr if it defines none of that name.
void* FindBeside(const void* address, const char* name);

}  // namespace triodrill::collective
