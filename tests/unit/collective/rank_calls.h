// What a test's ranks and the test agree on: the calls that are made, and the values in their buffers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "injectors/collective/nccl_abi.h"
#include "injectors/collective/page.h"
#include "triodrill/philox.h"

namespace triodrill::testing {

inline constexpr size_t kResultBytes = 2 * 1024 * 1024;  // a rank
inline constexpr unsigned char kUntouched = 0x5a;

// A call's buffers, in elements.
struct Sizes {
  uint64_t send = 0;
  uint64_t recv = 0;
};
inline Sizes SizesOf(collective::Operation operation, uint64_t count, int ranks) {
  const auto all = count * static_cast<uint64_t>(ranks);
  switch (operation) {
    case collective::kReduceScatter:
      return {all, count};
    case collective::kAllGather:
      return {count, all};
    default:
      return {count, count};
  }
}

inline int RootOf(uint64_t seed, int ranks) { return static_cast<int>(seed % static_cast<uint64_t>(ranks)); }

// Whole numbers of -7 … 7, which every type can hold and add.
inline uint64_t ValueOf(uint32_t type, uint64_t seed, uint64_t call, int rank, uint64_t index) {
  const uint32_t drawn = philox::Draw(seed, static_cast<uint32_t>(rank), call, index).word[0];
  const bool can_be_negative = corruption::IsSigned(corruption::FormatOf(type));
  return corruption::RawOf(type, static_cast<double>(drawn % 8) * (can_be_negative && (drawn >> 8 & 1) != 0 ? -1 : 1));
}

inline void Fill(nccl::DataType type, uint64_t seed, uint64_t call, int rank, void* data, uint64_t elements) {
  const uint32_t kind = nccl::TypeOf(type);
  const size_t width = corruption::BytesOf(kind);
  for (uint64_t i = 0; i < elements; ++i) {
    const uint64_t raw = ValueOf(kind, seed, call, rank, i);
    std::memcpy(static_cast<char*>(data) + i * width, &raw, width);
  }
}

}  // namespace triodrill::testing
