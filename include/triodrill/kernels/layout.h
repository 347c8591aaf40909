// What our kernels on a GPU and the programs that launch them share, byte by byte: names, and words in mapped host
// memory. Read by the CUDA compiler, too, so it holds plain numbers only. The stand-in of the driver that the shadow
// GPUs have performs kernels of these names.
#pragma once

namespace triodrill::kernels {

using Word32 = unsigned int;
using Word64 = unsigned long long;
static_assert(sizeof(Word32) == 4 && sizeof(Word64) == 8);

// One block's account of a burn, over all of its launches: written by the block alone, when it ends.
struct BurnBlock {
  Word64 rounds;          // pieces of work that were done
  Word64 busy_ns;         // in which it ran; while another program had its turn it did not
  Word32 launches;        // that ended
  Word32 multiprocessor;  // that the last one ran on
};
static_assert(sizeof(BurnBlock) == 24);

// When a launch ends, whatever comes first. Each block looks for itself.
struct BurnBounds {
  Word64 busy_ns;     // it has run for as long
  Word64 life_ns;     // so much time has passed since it began, whoever ran
  Word64 max_rounds;  // 0: any number
};
static_assert(sizeof(BurnBounds) == 24);

// A piece of work that takes longer was interrupted: another program had its turn. Time slices are of milliseconds, a
// piece is of some microseconds.
constexpr Word64 kGapNs = 100'000;
constexpr Word32 kBurnThreads = 1024;  // of a block
constexpr Word32 kBurnVectorBytes = 16;
// The first half of the memory is copied into the second; whole rounds of all blocks.
constexpr Word32 kBurnVectorsARound = 8;  // of a thread

// (const volatile Word32* stop, BurnBlock* blocks, BurnBounds bounds, void* memory, Word64 vectors); `stop` not 0: end.
constexpr char kBurnCompute[] = "triodrill_burn_compute";
constexpr char kBurnMemory[] = "triodrill_burn_memory";

// (const volatile Word32* armed, Word32 bit, volatile Word32* state, Word64 life_ns): spins for as long as `bit` of
// `armed` is set, but no longer than its life.
constexpr char kHang[] = "triodrill_hang";
enum HangState : Word32 { kHangNone = 0, kHangLaunched = 1, kHangSpins = 2, kHangReleased = 3, kHangLifeOver = 4 };

}  // namespace triodrill::kernels
