// What a drill asks for, as a rule of the shim's page. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "injectors/collective/page.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill::collective {

// The calls of the fault, whichever of the family it is; nothing in it means any.
const v1::NcclCalls& CallsOf(const v1::Parameters& with);

// "all_reduce"; "nccl" for any.
std::string OperationName(const v1::NcclCalls& calls);

// Without a deadline. InvalidArgument if no element type could be changed so.
Result<RuleOrder> OrderFrom(const v1::Parameters& with, uint64_t seed);

}  // namespace triodrill::collective
