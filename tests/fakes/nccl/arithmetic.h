// The sums, products and extremes of the stand-in NCCL, for every element type. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "injectors/collective/nccl_abi.h"

namespace triodrill::fake_nccl {

// into[i] = into[i] OP from[i], rounded to the type after each.
void Combine(nccl::DataType type, nccl::RedOp op, void* into, const void* from, size_t elements);

// The last step of an average.
void Divide(nccl::DataType type, void* values, size_t elements, int by);

}  // namespace triodrill::fake_nccl
