// Whether a stream is being captured into a CUDA graph. What a call does then happens at every replay, and a replay
// makes no call: so nothing may act. Asked of the driver if the process has loaded one; any thread.
#pragma once

#include "injectors/collective/nccl_abi.h"

namespace triodrill::collective {

// True, too, where the driver does not answer.
bool IsCaptured(nccl::Stream stream);

}  // namespace triodrill::collective
