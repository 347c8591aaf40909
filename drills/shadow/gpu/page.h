// Mapping of the state file, and waiting for events in it. libc alone: the stand-in library is loaded into programs of
// others.
#pragma once

#include "drills/shadow/gpu/state.h"

namespace triodrill::shadow::gpu {

struct Mapping {
  State* state = nullptr;  // null: `problem` says why, and errno what the system said, or 0
  bool writable = false;
  const char* problem = nullptr;  // a literal
};

// Refuses what is not whole: another size, another version, a digest that does not hold. With `write` a file that may
// only be read is refused, too; without, it is mapped for reading.
Mapping MapState(const char* path, bool write);
void Unmap(State* state);

uint64_t DigestOf(const State& state);

inline constexpr uint32_t kXidGpuLost = 79;
// The GPU's next XID; wakes who waits for events.
void PublishXid(State& state, Gpu& gpu, uint32_t code);
// Adds to a volatile counter and to its aggregate, and wakes.
void AddEcc(State& state, Gpu& gpu, uint32_t type, uint64_t errors);
// Until `events` is no longer `seen`, or for as long as that; may return early.
void WaitForEvent(const State& state, uint32_t seen, int64_t nanos);

}  // namespace triodrill::shadow::gpu
