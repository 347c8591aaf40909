// The kernel of gpu.burn on one GPU: launches of it, each of which ends by itself when it has run for long enough, when
// its life is over or when it is told to. One thread. Whatever way the process ends, the driver ends the kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "injectors/gpu/cuda.h"
#include "triodrill/kernels/layout.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill {

enum class BurnKind { kCompute, kMemory };

class Burner {
 public:
  // One block on each of so many multiprocessors, each so large that it fills one.
  static Result<std::unique_ptr<Burner>> Make(const CudaGpu& gpu, BurnKind kind, int blocks);
  ~Burner();
  Burner(const Burner&) = delete;
  Burner& operator=(const Burner&) = delete;

  Status Launch(const kernels::BurnBounds& bounds);
  // Of the last launch.
  Result<bool> Running() const;
  // For good: later launches end at once.
  void Stop();
  Status Await() const;

  int blocks() const { return blocks_; }

  struct Account {
    int multiprocessors = 0;     // different ones whose block has ended `launches` launches and done work in each
    uint64_t launches = 0;       // that every block has ended
    uint64_t rounds = 0;         // of all blocks
    uint64_t busy_ns = 0;        // of the mean block
    uint64_t least_busy_ns = 0;  // of the block that ran least
  };
  Account Read() const;

 private:
  Burner(const CudaGpu& gpu, int blocks) : gpu_(gpu), blocks_(blocks) {}
  Status MapMemory(BurnKind kind);
  Status Load(BurnKind kind);

  const CudaGpu& gpu_;
  const int blocks_;
  int shared_bytes_ = 0;
  void* mapped_ = nullptr;  // a word that says stop, and behind it the blocks' accounts
  cuda::DeviceMemory mapped_on_gpu_ = 0;
  cuda::DeviceMemory memory_ = 0;
  kernels::Word64 vectors_ = 0;
  cuda::Module module_ = nullptr;
  cuda::Function function_ = nullptr;
};

// Of the blocks' accounts. Pure.
Burner::Account AccountOf(const std::vector<kernels::BurnBlock>& blocks);

}  // namespace triodrill
