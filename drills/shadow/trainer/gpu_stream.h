// The training thread's way to its GPU's driver: a context, and the default stream of it. The simulated kernel is no
// kernel of the stand-in's, but it stands in that stream as one would: it begins when what was launched before has
// ended. Used by the thread that opened it alone. The context ends with the process.
#pragma once

#include <string>

#include "triodrill/kernels/cuda_abi.h"
#include "triodrill/status.h"

namespace triodrill::shadow::trainer {

class GpuStream {
 public:
  // Loads the driver `library` on the shadow GPUs of `state_file`.
  static Result<GpuStream> Open(const std::string& library, const std::string& state_file, int index);

  // Waits for as long as it takes, whatever is ordered meanwhile: as a program does that waits for its GPU.
  void AwaitTurn() const { calls_.cuStreamSynchronize(cuda::LegacyStream()); }

 private:
  explicit GpuStream(const cuda::Calls& calls) : calls_(calls) {}
  cuda::Calls calls_;
};

// The stand-in driver that belongs to this program, as it is installed or else as it is built. `libdir` is where
// libraries are installed, below the directory above the program's.
std::string StandInDriver(const std::string& libdir);

}  // namespace triodrill::shadow::trainer
