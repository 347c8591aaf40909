// The look at a GPU that a slot must pass before it serves again: through NVML, as a health check of a real node has
// it.
#pragma once

#include <cstdint>
#include <string>

namespace triodrill::shadow::pipeline {

struct GpuLook {
  bool lost = false;
  uint32_t sm_mhz = 0;
  uint32_t max_sm_mhz = 0;
  uint64_t reasons = 0;
  uint32_t limit_mw = 0;
  uint32_t default_limit_mw = 0;
  uint64_t uncorrectable_ecc = 0;  // since the driver was loaded
  uint32_t remap_pending = 0;
  uint32_t remap_failed = 0;
};

// "" if it is well. Pure. An XID leaves no trace in NVML but what it did: a loss, an error, a remapped row.
std::string WhySick(const GpuLook& look);

// Loads `nvml` and looks; one that cannot be looked at is not well.
std::string WhyGpuIsSick(const std::string& nvml, int gpu);

}  // namespace triodrill::shadow::pipeline
