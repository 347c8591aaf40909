// What of NCCL's C interface crosses our hands: declarations of our own, so that nothing here needs NCCL's header or
// CUDA's to build. Values and layouts are those of nccl.h 2.10 to 2.28, which has only added to them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "triodrill/corruption.h"

namespace triodrill::nccl {

using Comm = struct ncclComm*;
using Stream = struct CUstream_st*;

using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kSystemError = 2;
inline constexpr Result kInvalidArgument = 4;
inline constexpr Result kInvalidUsage = 5;
inline constexpr Result kRemoteError = 6;
inline constexpr Result kInProgress = 7;

using DataType = int;
inline constexpr DataType kInt8 = 0;
inline constexpr DataType kUint8 = 1;
inline constexpr DataType kInt32 = 2;
inline constexpr DataType kUint32 = 3;
inline constexpr DataType kInt64 = 4;
inline constexpr DataType kUint64 = 5;
inline constexpr DataType kFloat16 = 6;
inline constexpr DataType kFloat32 = 7;
inline constexpr DataType kFloat64 = 8;
inline constexpr DataType kBfloat16 = 9;
inline constexpr DataType kFloat8E4M3 = 10;
inline constexpr DataType kFloat8E5M2 = 11;

// kNoType if there is none.
constexpr uint32_t TypeOf(DataType type) {
  constexpr uint32_t kTypes[] = {corruption::kInt8,     corruption::kUint8,      corruption::kInt32,
                                 corruption::kUint32,   corruption::kInt64,      corruption::kUint64,
                                 corruption::kFloat16,  corruption::kFloat32,    corruption::kFloat64,
                                 corruption::kBfloat16, corruption::kFloat8E4M3, corruption::kFloat8E5M2};
  constexpr int kCount = sizeof(kTypes) / sizeof(kTypes[0]);
  return type >= 0 && type < kCount ? kTypes[type] : static_cast<uint32_t>(corruption::kNoType);
}

using RedOp = int;
inline constexpr RedOp kSum = 0;
inline constexpr RedOp kProd = 1;
inline constexpr RedOp kMax = 2;
inline constexpr RedOp kMin = 3;
inline constexpr RedOp kAvg = 4;

struct UniqueId {
  char internal[128];
};

// The beginning of ncclConfig_t; what follows has changed with versions.
struct Config {
  size_t size;
  uint32_t magic;
  uint32_t version;
  int blocking;
};
inline constexpr uint32_t kConfigMagic = 0xcafebeef;

}  // namespace triodrill::nccl
