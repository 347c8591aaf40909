#include "drills/shadow/trainer/rank_memory.h"

#include <algorithm>
#include <functional>
#include <set>

#include "drills/shadow/trainer/digest.h"

namespace triodrill::shadow::trainer {
namespace {

constexpr size_t kSealFloats = sizeof(double) / sizeof(float);

void CopyInPlace(const State& from, State& to) {
  std::copy(from.weights.begin(), from.weights.end(), to.weights.begin());
  std::copy(from.momentum.begin(), from.momentum.end(), to.momentum.begin());
  to.step = from.step;
}

bool Has(const Holding& one, int64_t step) { return one.current == step || one.previous == step; }

}  // namespace

std::optional<int64_t> NewestCommonStep(std::span<const Holding> holdings) {
  if (holdings.empty()) return std::nullopt;
  for (const int64_t step : {holdings[0].current, holdings[0].previous}) {
    if (step == kNoState) continue;
    if (std::all_of(holdings.begin(), holdings.end(), [&](const Holding& one) { return Has(one, step); })) return step;
  }
  return std::nullopt;
}

std::optional<Held> NewestHeldStep(const Layout& layout, std::span<const Holding> holdings) {
  std::set<int64_t, std::greater<>> steps;
  for (const Holding& one : holdings) steps.insert({one.current, one.previous});
  steps.erase(kNoState);
  for (const int64_t step : steps) {
    Held held{step, {}};
    for (int shard = 0; shard < layout.tensor_parallel; ++shard) {
      for (int replica = 0; replica < layout.Replicas(); ++replica) {
        if (!Has(holdings[static_cast<size_t>(layout.Rank(replica, shard))], step)) continue;
        held.replica_of_shard.push_back(replica);
        break;
      }
    }
    if (static_cast<int>(held.replica_of_shard.size()) == layout.tensor_parallel) return held;
  }
  return std::nullopt;
}

RankMemory::RankMemory(const Layout& the_layout, uint64_t the_seed, int the_rank)
    : layout(the_layout), seed(the_seed), rank(the_rank) {
  const size_t size = layout.Parameters();
  for (State* one : {&state, &previous}) {
    one->step = kNoState;
    one->weights.assign(size, 0.0F);
    one->momentum.assign(size, 0.0F);
  }
  partials_.resize(size_t{2} * kPartial);
  gathered_partials.resize(partials_.size() * static_cast<size_t>(layout.tensor_parallel));
  gradient_block.resize(size + kSealFloats);
  gathered_gradients.resize(gradient_block.size() * static_cast<size_t>(layout.Replicas()));
  reduced.resize(size);
  outputs_.resize(kPartial);
  peer_outputs_.resize(kPartial);
  again_.resize(size);
}

void RankMemory::Assign(const State& source) {
  CopyInPlace(source, state);
  previous.step = kNoState;
}

void RankMemory::ApplyReduced() {
  CopyInPlace(state, previous);
  Apply(reduced, state);
}

std::span<const float> RankMemory::PartialBlock(bool peer) const {
  return std::span(partials_).first(kPartial * (peer ? 2U : 1U));
}

void RankMemory::RunForward(int64_t step, bool peer) {
  Forward(layout, seed, step, Replica(), state.weights, own_, std::span(partials_).first(kPartial));
  if (peer) {
    Forward(layout, seed, step, ReplicaBefore(), state.weights, peer_, std::span(partials_).subspan(kPartial));
  }
}

void RankMemory::SumOutputs(bool peer) {
  const size_t stride = PartialBlock(peer).size();
  SumInRankOrder(gathered_partials, layout.tensor_parallel, stride, 1.0F, outputs_);
  if (peer) {
    SumInRankOrder(std::span(gathered_partials).subspan(kPartial), layout.tensor_parallel, stride, 1.0F, peer_outputs_);
  }
}

void RankMemory::RunBackward(bool peer) {
  SumOutputs(peer);
  loss = Backward(layout, state.weights, own_, outputs_, gradient());
  SealWithSum(gradient_block);
}

void RankMemory::Reduce() {
  SumInRankOrder(gathered_gradients, layout.Replicas(), gradient_block.size(),
                 1.0F / static_cast<float>(layout.Replicas()), reduced);
}

std::span<const float> RankMemory::SentBy(int replica) const {
  return std::span(gathered_gradients)
      .subspan(static_cast<size_t>(replica) * gradient_block.size(), layout.Parameters());
}

Accusations RankMemory::Accuse(const Checks& checks, int64_t step) {
  Accusations accusations;
  if (checks.collective_checksum) {
    const int wrong = FirstWrongSum(gathered_gradients, gradient_block.size());
    if (wrong >= 0) accusations.collective_checksum = layout.Rank(wrong, Shard());
  }
  if (checks.abft && !ColumnChecksumHolds(ColumnChecksumError(layout, state.weights, own_))) accusations.abft = rank;
  if (IsDue(checks.replay_every, step)) {
    Pass again;
    std::vector<float> partial(kPartial);
    Forward(layout, seed, step, Replica(), state.weights, again, partial);
    Backward(layout, state.weights, again, outputs_, again_);
    if (!SameBits(partial, PartialBlock(false)) || !SameBits(again_, SentBy(Replica()))) accusations.replay = rank;
  }
  if (IsDue(checks.peer_replay_every, step)) {
    Backward(layout, state.weights, peer_, peer_outputs_, again_);
    if (!SameBits(again_, SentBy(ReplicaBefore()))) accusations.peer_replay = layout.Rank(ReplicaBefore(), Shard());
  }
  return accusations;
}

Record RankMemory::RecordOf(int64_t step) const {
  Record record;
  record.step = step;
  record.gradient_hash = HashOf(reduced);
  record.state_hash = StateHash(state);
  record.squared_norm = SquaredNorm(reduced);
  record.loss = loss;
  return record;
}

}  // namespace triodrill::shadow::trainer
