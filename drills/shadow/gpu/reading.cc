#include "drills/shadow/gpu/reading.h"

#include "drills/shadow/gpu/processes.h"

namespace triodrill::shadow::gpu {
namespace {

Reading ReadOne(const Gpu& gpu, uint32_t index) {
  Reading reading;
  reading.index = index;
  reading.uuid = gpu.identity.uuid;
  reading.name = gpu.identity.name;
  reading.bus_id = gpu.identity.bus_id;
  reading.now = Operate(gpu);
  reading.max_sm_mhz = gpu.identity.max_sm_mhz;
  const uint64_t locked = gpu.locked_sm.load();
  reading.locked_min_mhz = LowOf(locked);
  reading.locked_max_mhz = HighOf(locked);
  reading.limit_mw = gpu.limit_mw.load();
  reading.temperature_c = gpu.temperature_c.load();
  reading.utilization = UtilizationOf(gpu);
  for (int type = 0; type < 2; ++type) {
    for (int counter = 0; counter < 2; ++counter) reading.ecc[type][counter] = gpu.ecc[type][counter].load();
  }
  for (uint32_t i = 0; i < kRowFacts; ++i) reading.rows[i] = gpu.rows[i].load();
  for (uint32_t i = 0; i < kLinkFacts; ++i) reading.nvlink[i] = gpu.nvlink[i].load();
  const uint64_t xid = gpu.xid.load();
  reading.xid = HighOf(xid);
  reading.xid_count = LowOf(xid);
  reading.lost = gpu.lost.load() != 0;
  for (const Word64& word : gpu.processes) {
    if (const pid_t pid = LivingProcess(word.load()); pid != 0) reading.processes.push_back(pid);
  }
  return reading;
}

}  // namespace

std::vector<Reading> ReadAll(const State& state) {
  std::vector<Reading> all;
  for (uint32_t index = 0; index < state.count; ++index) all.push_back(ReadOne(state.gpus[index], index));
  return all;
}

}  // namespace triodrill::shadow::gpu
