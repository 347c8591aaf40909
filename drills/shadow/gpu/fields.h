// What hardware and driver change by themselves, under names: for triodrill-gpu-state, and for tests. NVML has no
// setter for any of it.
#pragma once

#include <string>
#include <string_view>

#include "drills/shadow/gpu/state.h"
#include "triodrill/status.h"

namespace triodrill::shadow::gpu {

// "temperature=95", "ecc_dbe+=2", "xid=79". Counters take "=" and "+="; an "=" that lowers a counter leaves its
// aggregate.
Status SetField(State& state, int gpu, std::string_view assignment);

// One line a field.
std::string DescribeFields();

}  // namespace triodrill::shadow::gpu
