// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw ("Parallel random numbers: as easy as 1,
// 2, 3", SC 2011): a draw is a pure function of a key and a counter, so that whoever knows the seed and the number of a
// call draws again what was drawn there, on the CPU or on the GPU, in any order. Pure, no state, any thread.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define TRIODRILL_HOST_DEVICE __host__ __device__
#else
#define TRIODRILL_HOST_DEVICE
#endif

namespace triodrill::philox {

struct Block {
  uint32_t word[4];
};

TRIODRILL_HOST_DEVICE constexpr Block Draw(Block counter, uint64_t key) {
  auto key0 = static_cast<uint32_t>(key);
  auto key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t left = uint64_t{0xD2511F53} * counter.word[0];
    const uint64_t right = uint64_t{0xCD9E8D57} * counter.word[2];
    counter = Block{{static_cast<uint32_t>(right >> 32) ^ counter.word[1] ^ key0, static_cast<uint32_t>(right),
                     static_cast<uint32_t>(left >> 32) ^ counter.word[3] ^ key1, static_cast<uint32_t>(left)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// The four words of block `block` of call `call`, for one of 16 uses that must not see each other's draws. Calls are
// counted to 2^60.
TRIODRILL_HOST_DEVICE constexpr Block Draw(uint64_t seed, uint32_t use, uint64_t call, uint64_t block) {
  return Draw(Block{{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(call),
                     static_cast<uint32_t>(call >> 32) ^ (use << 28)}},
              seed);
}

TRIODRILL_HOST_DEVICE constexpr uint64_t Pair(const Block& block, int at) {
  return uint64_t{block.word[2 * at + 1]} << 32 | block.word[2 * at];
}

// 0 … 1, 1 excluded, in steps of 2^-53.
TRIODRILL_HOST_DEVICE constexpr double Unit(uint64_t drawn) {
  return static_cast<double>(drawn >> 11) * (1.0 / 9007199254740992.0);
}

}  // namespace triodrill::philox
