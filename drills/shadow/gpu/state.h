// The shadow GPUs of one node: one file of this layout, mapped by every process that has to do with them (the stand-in
// library, the trainers, the exporter, triodrill-gpu-state). It outlives them all, as a driver's state does.
//
// There is no lock. Whatever may change is one atomic word, so a writer that is killed leaves the old value or the new
// one, never half of it, and nothing that the next writer would have to wait for. What never changes is covered by a
// digest, made before the file gets its name.
#pragma once

#include <atomic>
#include <cstdint>

namespace triodrill::shadow::gpu {

constexpr uint64_t kMagic = 0x7570672d6f697274;  // "trio-gpu", little-endian
constexpr uint32_t kVersion = 2;
constexpr uint32_t kMostGpus = 32;
constexpr uint32_t kMostProcesses = 8;

using Word32 = std::atomic<uint32_t>;
using Word64 = std::atomic<uint64_t>;
static_assert(Word32::is_always_lock_free && Word64::is_always_lock_free && sizeof(Word64) == 8);

// What a GPU is. Never changes.
struct Identity {
  char uuid[48];
  char name[64];
  char bus_id[32];
  uint32_t max_sm_mhz;
  uint32_t min_sm_mhz;
  uint32_t max_memory_mhz;
  uint32_t min_limit_mw;
  uint32_t max_limit_mw;
  uint32_t default_limit_mw;
  uint32_t demand_mw;   // what the load draws at the highest clock
  uint32_t slowdown_c;  // from here on the hardware slows down
};

// Two clocks in one word, so that they change together; 0: not locked.
constexpr uint64_t PackRange(uint32_t low, uint32_t high) { return uint64_t{low} << 32 | high; }
constexpr uint32_t LowOf(uint64_t range) { return static_cast<uint32_t>(range >> 32); }
constexpr uint32_t HighOf(uint64_t range) { return static_cast<uint32_t>(range); }

enum Row : uint32_t { kRowsCorrectable, kRowsUncorrectable, kRowsPending, kRowsFailure, kRowFacts };
enum Link : uint32_t { kLinkCrcFlit, kLinkCrcData, kLinkReplay, kLinkRecovery, kLinkFacts };

struct alignas(64) Gpu {
  Identity identity;
  Word64 locked_sm;
  Word64 locked_memory;
  Word64 reasons;    // that the hardware gives by itself
  Word64 ecc[2][2];  // [MemoryErrorType][EccCounterType]
  Word64 nvlink[kLinkFacts];
  Word64 xid;                        // how many there were << 32 | the last one
  Word64 processes[kMostProcesses];  // processes.h; 0: free
  Word64 taken_ns;                   // time of the whole GPU that kernels of others took from the job's; only grows
  Word32 rows[kRowFacts];
  Word32 limit_mw;
  Word32 temperature_c;
  Word32 utilization;  // percent, as the last step had it
  Word32 lost;         // fallen off the bus
};

struct State {
  uint64_t magic;
  uint32_t version;
  uint32_t bytes;
  uint32_t count;
  uint32_t reserved;
  uint64_t digest;    // of the count and of all identities
  Word32 events;      // grows with each event; waited for by futex(2)
  Word32 deny_set;    // the driver refuses every setter
  Word32 old_driver;  // the driver does not know clocks' "event reasons", only "throttle reasons"
  Gpu gpus[kMostGpus];
};

}  // namespace triodrill::shadow::gpu
