// What a shadow GPU shows at one moment, as values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drills/shadow/gpu/model.h"

namespace triodrill::shadow::gpu {

struct Reading {
  uint32_t index = 0;
  std::string uuid;
  std::string name;
  std::string bus_id;
  Operating now;
  uint32_t max_sm_mhz = 0;
  uint32_t locked_min_mhz = 0;  // both 0: not locked
  uint32_t locked_max_mhz = 0;
  uint32_t limit_mw = 0;
  uint32_t temperature_c = 0;
  uint32_t utilization = 0;
  uint64_t ecc[2][2] = {};  // [MemoryErrorType][EccCounterType]
  uint32_t rows[kRowFacts] = {};
  uint64_t nvlink[kLinkFacts] = {};
  uint32_t xid = 0;
  uint32_t xid_count = 0;
  bool lost = false;
  std::vector<int> processes;
};

std::vector<Reading> ReadAll(const State& state);

}  // namespace triodrill::shadow::gpu
