// The training job's model: two layers, softsign between them, the hidden layer split over the tensor-parallel shards,
// a synthetic regression. Pure functions over caller's memory; the same bits wherever they run.
//
// Each shard holds its own columns of the first product, its own rows of the second, and a bias of its own for the
// outputs; the model's output is the sum over the shards. So the forward pass needs one sum over a replica's shards,
// and the backward pass none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace triodrill::shadow::trainer {

inline constexpr int kInputs = 32;
inline constexpr int kHidden = 128;  // over all shards
inline constexpr int kOutputs = 8;
inline constexpr int kBatch = 16;  // rows a replica sees in a step
inline constexpr int kPartial = kBatch * kOutputs;

// Who does what in a job of `world` ranks.
struct Layout {
  int world = 1;
  int tensor_parallel = 1;  // shards: divides `world` and kHidden

  int Replicas() const { return world / tensor_parallel; }
  int Shard(int rank) const { return rank % tensor_parallel; }
  int Replica(int rank) const { return rank / tensor_parallel; }
  int Rank(int replica, int shard) const { return replica * tensor_parallel + shard; }
  int Hidden() const { return kHidden / tensor_parallel; }  // of one shard
  size_t Parameters() const {
    return static_cast<size_t>(kInputs + 1) * Hidden() + static_cast<size_t>(Hidden()) * kOutputs + kOutputs;
  }
  bool Valid() const {
    return world > 0 && tensor_parallel > 0 && world % tensor_parallel == 0 && kHidden % tensor_parallel == 0;
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

// What a shard is, and all that a checkpoint of it must hold.
struct State {
  int64_t step = 0;  // done
  std::vector<float> weights;
  std::vector<float> momentum;
};

State InitialState(const Layout& layout, uint64_t seed, int shard);

// One pass over one replica's rows of one step, as one shard sees it.
struct Pass {
  std::vector<float> inputs;   // kBatch x kInputs
  std::vector<float> targets;  // kBatch x kOutputs
  std::vector<float> sums;     // kBatch x Hidden(): before the softsign
  std::vector<float> hidden;   // kBatch x Hidden()
};

// Makes the rows from (seed, step, replica) and this shard's part of the outputs, kPartial values, into `partial`.
void Forward(const Layout& layout, uint64_t seed, int64_t step, int replica, std::span<const float> weights, Pass& pass,
             std::span<float> partial);

// From the outputs (the sum of all shards' parts) to this shard's gradient. Returns the loss.
double Backward(const Layout& layout, std::span<const float> weights, const Pass& pass, std::span<const float> outputs,
                std::span<float> gradient);

// The sum of `count` blocks of `into.size()` values that lie `stride` values apart, in their order, times `scale`.
// Every reduction of the job is one all-gather followed by this: an all-reduce of the library would add in an order
// that depends on its algorithm, and then no run of one process could repeat the bits of a run of many.
void SumInRankOrder(std::span<const float> blocks, int count, size_t stride, float scale, std::span<float> into);

// One step of SGD with momentum; counts the step.
void Apply(std::span<const float> gradient, State& state);

// How far the product behind `pass.sums` is from its column checksums, in units of rounding: the sums over the rows of
// the product against the product of the sums over the rows, in double precision. Not finite or huge if it is wrong.
double ColumnChecksumError(const Layout& layout, std::span<const float> weights, const Pass& pass);

}  // namespace triodrill::shadow::trainer
