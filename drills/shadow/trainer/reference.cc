#include "drills/shadow/trainer/reference.h"

#include "drills/shadow/trainer/digest.h"

namespace triodrill::shadow::trainer {

void RunReference(const Layout& layout, uint64_t seed, int64_t steps,
                  const std::function<void(const ReferencePoint&)>& seen) {
  const int shards = layout.tensor_parallel;
  const int replicas = layout.Replicas();
  const size_t size = layout.Parameters();
  std::vector<State> states;
  for (int shard = 0; shard < shards; ++shard) states.push_back(InitialState(layout, seed, shard));
  std::vector<Pass> passes(static_cast<size_t>(shards));
  std::vector<float> partials(static_cast<size_t>(shards) * kPartial);
  std::vector<float> outputs(kPartial);
  // Of shard s: the replicas' gradients one after another, as its data-parallel all-gather would bring them.
  std::vector<std::vector<float>> gradients(static_cast<size_t>(shards),
                                            std::vector<float>(static_cast<size_t>(replicas) * size));
  std::vector<float> reduced(size);
  for (int64_t step = 1; step <= steps; ++step) {
    ReferencePoint point;
    point.step = step;
    for (int replica = 0; replica < replicas; ++replica) {
      for (size_t shard = 0; shard < states.size(); ++shard) {
        Forward(layout, seed, step, replica, states[shard].weights, passes[shard],
                std::span(partials).subspan(shard * kPartial, kPartial));
      }
      SumInRankOrder(partials, shards, kPartial, 1.0F, outputs);
      double loss = 0;
      for (size_t shard = 0; shard < states.size(); ++shard) {
        loss = Backward(layout, states[shard].weights, passes[shard], outputs,
                        std::span(gradients[shard]).subspan(static_cast<size_t>(replica) * size, size));
      }
      point.loss += loss / replicas;
    }
    for (size_t shard = 0; shard < states.size(); ++shard) {
      SumInRankOrder(gradients[shard], replicas, size, 1.0F / static_cast<float>(replicas), reduced);
      Apply(reduced, states[shard]);
      point.hashes.push_back(StateHash(states[shard]));
    }
    seen(point);
  }
}

}  // namespace triodrill::shadow::trainer
