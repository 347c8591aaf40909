// The kernel of gpu.burn, in two kinds. The checked-in text of it is burn_ptx.h: made from this file by
// tests/unit/kernels/make_ptx, and a test holds it against a new one. One block fills a multiprocessor.
#include "triodrill/kernels/layout.h"

#define TRIODRILL_KERNEL extern "C" __attribute__((global))
#define TRIODRILL_SHARED __attribute__((shared))

using namespace triodrill::kernels;

namespace {

struct Vector {
  Word32 word[4];
};

inline __attribute__((device)) Word64 Now() {
  Word64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

inline __attribute__((device)) Word32 Multiprocessor() {
  Word32 number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

// The first thread's book: how long the block really ran, and when it is enough.
struct Book {
  Word64 begun;
  Word64 last;
  Word64 busy;
  Word64 rounds;

  __attribute__((device)) Book() : begun(Now()), last(begun), busy(0), rounds(0) {}

  __attribute__((device)) bool Enough(const BurnBounds& bounds, Word32 stopped) {
    const Word64 now = Now();
    const Word64 took = now - last;
    last = now;
    if (took < kGapNs) busy += took;
    ++rounds;
    return stopped != 0 || busy >= bounds.busy_ns || now - begun >= bounds.life_ns ||
           (bounds.max_rounds != 0 && rounds >= bounds.max_rounds);
  }

  __attribute__((device)) void Close(BurnBlock* block) const {
    volatile BurnBlock* out = block;
    out->rounds = out->rounds + rounds;
    out->busy_ns = out->busy_ns + busy;
    out->multiprocessor = Multiprocessor();
    __nvvm_membar_sys();
    out->launches = out->launches + 1;
  }
};

// Work() is one piece of work of one thread.
template <typename Work>
inline __attribute__((device)) void Burn(const volatile Word32* stop, BurnBlock* blocks, const BurnBounds& bounds,
                                         Work work) {
  TRIODRILL_SHARED static Word32 enough;
  const bool first = __nvvm_read_ptx_sreg_tid_x() == 0;
  Book book;
  for (bool go_on = true; go_on;) {
    // Asked for before the work, looked at after it: the way to the host and back is long.
    const Word32 stopped = first ? *stop : 0;
    work();
    __syncthreads();
    if (first) enough = book.Enough(bounds, stopped) ? 1 : 0;
    __syncthreads();
    go_on = *const_cast<volatile Word32*>(&enough) == 0;
  }
  if (first) book.Close(blocks + __nvvm_read_ptx_sreg_ctaid_x());
}

}  // namespace

TRIODRILL_KERNEL void triodrill_burn_compute(const volatile Word32* stop, BurnBlock* blocks, BurnBounds bounds,
                                             void* memory, Word64 vectors) {
  constexpr int kSteps = 512;
  float a = static_cast<float>(__nvvm_read_ptx_sreg_tid_x());
  float b = a + 1.0F;
  float c = a + 2.0F;
  float d = a + 3.0F;
  Burn(stop, blocks, bounds, [&] {
    // Four chains that depend on themselves alone. Volatile, or the compiler would work them out.
    for (int i = 0; i < kSteps; ++i) {
      asm volatile(
          "fma.rn.f32 %0, %0, 0f3F7FFFFE, 0f33800000;\n\t"
          "fma.rn.f32 %1, %1, 0f3F7FFFFE, 0f33800000;\n\t"
          "fma.rn.f32 %2, %2, 0f3F7FFFFE, 0f33800000;\n\t"
          "fma.rn.f32 %3, %3, 0f3F7FFFFE, 0f33800000;"
          : "+f"(a), "+f"(b), "+f"(c), "+f"(d));
    }
  });
}

TRIODRILL_KERNEL void triodrill_burn_memory(const volatile Word32* stop, BurnBlock* blocks, BurnBounds bounds,
                                            void* memory, Word64 vectors) {
  const Word64 block = static_cast<Word64>(__nvvm_read_ptx_sreg_ntid_x());
  const Word64 threads = static_cast<Word64>(__nvvm_read_ptx_sreg_nctaid_x()) * block;
  const Word64 half = vectors / 2;
  const Vector* from = static_cast<const Vector*>(memory);
  Vector* to = static_cast<Vector*>(memory) + half;
  Word64 at = static_cast<Word64>(__nvvm_read_ptx_sreg_ctaid_x()) * block +
              static_cast<Word64>(__nvvm_read_ptx_sreg_tid_x());
  Burn(stop, blocks, bounds, [&] {
    for (Word32 i = 0; i < kBurnVectorsARound; ++i) {
      if (at >= half) at %= threads;
      if (at >= half) return;  // more threads than vectors
      Word32 x;
      Word32 y;
      Word32 z;
      Word32 w;
      // Past the caches: it is the memory that is to be busy.
      asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                   : "l"(from + at)
                   : "memory");
      asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to + at), "r"(x), "r"(y), "r"(z), "r"(w)
                   : "memory");
      at += threads;
    }
  });
}
