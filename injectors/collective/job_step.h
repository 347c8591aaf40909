// The training step that the job is in, as it tells libtriodrill: read from that library's page, which is found as an
// agent finds it, among this process's own descriptors. So it does not matter how the job loads the library. Any
// thread, under the lock of whoever acts.
#pragma once

#include <cstdint>

namespace triodrill::collective {

// How many steps are done; 0 where the job does not say. `token` is of the rule that asks: the page is looked for once
// a token.
uint64_t StepOfJob(uint64_t token);

}  // namespace triodrill::collective
