// The programs' way to a node's shadow GPUs: making the file, mapping it, one GPU of it for a process that computes.
#pragma once

#include <cstdint>
#include <string>

#include "drills/shadow/gpu/model.h"
#include "drills/shadow/gpu/state.h"
#include "triodrill/status.h"

namespace triodrill::shadow::gpu {

struct Making {
  int gpus = 0;
  uint64_t seed = 0;
  std::string node;  // with the seed and its number it makes a GPU's UUID
};

// Written aside and renamed: who opens the file sees all of it. AlreadyExists unless `replace`.
Status MakeState(const std::string& file, const Making& making, bool replace);

// A mapped file. Movable; unmapped with its owner. DataLoss: it is not whole, or something else.
class MappedState {
 public:
  static Result<MappedState> Open(const std::string& file, bool write);
  MappedState(MappedState&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
  MappedState& operator=(MappedState&&) = delete;
  ~MappedState();

  bool mapped() const { return state_ != nullptr; }
  State& operator*() const { return *state_; }
  State* operator->() const { return state_; }

 private:
  explicit MappedState(State* state) : state_(state) {}
  State* state_;
};

// One GPU, held by this process as long as this lives: it stands in the GPU's list of processes.
class HeldGpu {
 public:
  static Result<HeldGpu> Open(const std::string& file, int index);
  HeldGpu(HeldGpu&&) noexcept = default;
  ~HeldGpu();

  bool lost() const { return gpu().lost.load() != 0; }
  Operating Now() const { return Operate(gpu()); }
  uint32_t max_sm_mhz() const { return gpu().identity.max_sm_mhz; }
  std::string Name() const;  // for messages: number and UUID
  // Of the GPU's time, so much was taken by kernels of others since it was made.
  std::chrono::nanoseconds taken() const { return std::chrono::nanoseconds(gpu().taken_ns.load()); }
  void SetUtilization(uint32_t percent) const { gpu().utilization.store(percent); }

 private:
  HeldGpu(MappedState state, uint32_t index, uint64_t process)
      : state_(std::move(state)), index_(index), process_(process) {}
  Gpu& gpu() const { return (*state_).gpus[index_]; }

  MappedState state_;
  uint32_t index_;
  uint64_t process_;
};

}  // namespace triodrill::shadow::gpu
