// What a context of the stand-in driver has to do: kernels, one after the other, on a thread of its own, as on one
// stream. Which those are is known by name; their effect is played out on the CPU, with time that passes in the place
// of work. Any thread. A process that ends takes it along; what it took of the GPU until then stands in the GPU's
// state.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "drills/shadow/gpu/state.h"
#include "triodrill/kernels/layout.h"

namespace triodrill::shadow::gpu::cuda {

using kernels::Word32;
using kernels::Word64;

enum class Kernel : uint32_t { kNone, kBurn, kHang };
Kernel KernelNamed(const char* name);

struct Work {
  Kernel kernel = Kernel::kNone;
  // A burn.
  const Word32* stop = nullptr;
  kernels::BurnBlock* blocks = nullptr;
  kernels::BurnBounds bounds{};
  uint32_t grid = 0;
  // A hang.
  const Word32* armed = nullptr;
  Word32 bit = 0;
  Word32* state = nullptr;
  Word64 life_ns = 0;

  Work* next = nullptr;
};

class Stream {
 public:
  // False: there is no thread to be had.
  bool Begin(State* state, Gpu* gpu);
  // Cuts off what runs, forgets what waits.
  void End();

  // False: there is no memory. Takes a copy.
  bool Add(const Work& work);
  bool Idle();
  void WaitUntilIdle();

 private:
  static void* Main(void* stream);
  void Perform(const Work& work);
  void Burn(const Work& work);
  void Hang(const Work& work);
  bool Ended();
  void Pass(int64_t nanos);

  pthread_mutex_t lock_;
  pthread_cond_t changed_;
  pthread_t thread_;
  Work* first_;    // under the lock
  unsigned open_;  // under the lock: waiting or running
  bool ended_;     // under the lock
  State* state_;
  Gpu* gpu_;
};

}  // namespace triodrill::shadow::gpu::cuda
