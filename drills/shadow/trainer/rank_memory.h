// One rank's memory: everything a step reads and writes. Made once; nothing in it moves, since a drill may know the
// places of its tensors. Used by the training thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drills/shadow/trainer/checks.h"
#include "drills/shadow/trainer/model.h"

namespace triodrill::shadow::trainer {

inline constexpr int64_t kNoState = -1;

// What a rank has in memory: a rank may have been stopped in the middle of a step that others have applied, so each
// keeps the state before the last step too. kNoState: none.
struct Holding {
  int64_t current = kNoState;
  int64_t previous = kNoState;
};

// The newest step that all of `holdings` have. Pure.
std::optional<int64_t> NewestCommonStep(std::span<const Holding> holdings);

// The newest step of which each shard is held by one at least, and which replica's rank is the first to hold it, for
// each shard. `holdings` are all ranks', in order. Pure.
struct Held {
  int64_t step = kNoState;
  std::vector<int> replica_of_shard;
};
std::optional<Held> NewestHeldStep(const Layout& layout, std::span<const Holding> holdings);

class RankMemory {
 public:
  RankMemory(const Layout& layout, uint64_t seed, int rank);

  const Layout layout;
  const uint64_t seed;
  int rank;  // -1 in a standby, until it joins

  State state;     // state.step is kNoState before the first join
  State previous;  // one step before; kNoState if there is none
  int Shard() const { return layout.Shard(rank); }
  int Replica() const { return layout.Replica(rank); }
  // The replica whose gradient a peer replay computes again: the one before this.
  int ReplicaBefore() const { return (Replica() + layout.Replicas() - 1) % layout.Replicas(); }

  // Copies into place; there is no state before it.
  void Assign(const State& source);
  // state -> previous, then one step of the optimizer.
  void ApplyReduced();

  // ---- a step, in its order; `peer`: with a peer replay

  // Rows and partial outputs of the own replica, and of the one before it for a peer replay.
  void RunForward(int64_t step, bool peer);
  // What the tensor-parallel all-gather sends, and where it brings all shards'.
  std::span<const float> PartialBlock(bool peer) const;
  std::vector<float> gathered_partials;
  // Own gradient and loss; seals the block with the gradient's sum.
  void RunBackward(bool peer);
  double loss = 0;
  std::span<float> gradient() { return std::span(gradient_block).first(layout.Parameters()); }
  // What the data-parallel all-gather sends, the gradient and then its sum, and where it brings all replicas'.
  std::vector<float> gradient_block;
  std::vector<float> gathered_gradients;
  void Reduce();
  std::vector<float> reduced;

  // What this rank has to say against others and itself, once the gradients are here.
  Accusations Accuse(const Checks& checks, int64_t step);
  Record RecordOf(int64_t step) const;

 private:
  void SumOutputs(bool peer);
  std::span<const float> SentBy(int replica) const;

  Pass own_;
  Pass peer_;
  std::vector<float> partials_;  // own, then the replica before's
  std::vector<float> outputs_;
  std::vector<float> peer_outputs_;
  std::vector<float> again_;
};

}  // namespace triodrill::shadow::trainer
