// The processes that hold a context on a GPU, each one word: its pid and when it started, so that a dead one's pid that
// was given to another names nobody. A process that was killed is left out by every reader, as if the driver had
// cleaned up after it, and its word is used again. libc alone.
//
// A pid means something in its own pid namespace only: a reader elsewhere sees no processes.
#pragma once

#include <sys/types.h>

#include "drills/shadow/gpu/state.h"

namespace triodrill::shadow::gpu {

uint64_t ProcessWord(pid_t pid);     // 0: there is none such
pid_t LivingProcess(uint64_t word);  // 0: none, or it is gone

// Percent of time in kernels; 0 if nobody is there to run any.
uint32_t UtilizationOf(const Gpu& gpu);

// False: there is no room.
bool AddProcess(Gpu& gpu, uint64_t word);
void RemoveProcess(Gpu& gpu, uint64_t word);

}  // namespace triodrill::shadow::gpu
