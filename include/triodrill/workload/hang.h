// Lets this process's own work on its GPU wait: a kernel that looks at the page, on the default stream, before whatever
// the process launches next. Only where the process has loaded the CUDA driver and the calling thread has a context;
// nothing is loaded or initialised for it. Owned by the library, used under its lock. A process that ends takes it
// along.
#pragma once

#include <cstdint>

#include "triodrill/workload/page.h"

namespace triodrill::workload {

// Returns a RuleTrouble. The kernel waits for as long as `bit` of the page's `armed` is set, at most `life_ns`, and
// says in `rule.gpu_state` what it is at; `gpu_code` is what the driver said to a launch that it refused.
uint32_t HangGpu(Page& page, uint32_t bit, Rule& rule, int64_t life_ns);

// Before the page's memory is given up or used for another page; no rule of it may be armed. May be null.
void LeavePage(Page* page);

// In a process that was forked: what its parent had on GPUs is not its own.
void ForgetGpus();

}  // namespace triodrill::workload
