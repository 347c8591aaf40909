// The kernel of gpu.hang: one thread that waits. The checked-in text of it is hang_ptx.h; see burn.cu.
#include "triodrill/kernels/layout.h"

using namespace triodrill::kernels;

namespace {

inline __attribute__((device)) Word64 Now() {
  Word64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

}  // namespace

extern "C" __attribute__((global)) void triodrill_hang(const volatile Word32* armed, Word32 bit, volatile Word32* state,
                                                       Word64 life_ns) {
  const Word64 begun = Now();
  *state = kHangSpins;
  __nvvm_membar_sys();
  Word32 end = kHangReleased;
  while ((*armed & bit) != 0) {
    if (Now() - begun >= life_ns) {
      end = kHangLifeOver;
      break;
    }
    asm volatile("nanosleep.u32 20000;");  // it is to hold its stream, not to load the GPU
  }
  __nvvm_membar_sys();
  *state = end;
}
