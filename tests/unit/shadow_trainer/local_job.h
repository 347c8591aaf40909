// All ranks of a job in one process, by the functions that the trainers use, with a hand in between: the collectives
// are copies, and `touch` may damage what a rank has when one of a step's phases begins. Values only.
#pragma once

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "drills/shadow/trainer/checks.h"
#include "drills/shadow/trainer/rank_memory.h"

namespace triodrill::shadow::trainer {

class LocalJob {
 public:
  using Touch = std::function<void(std::string_view phase, RankMemory& memory)>;

  LocalJob(const Layout& layout, uint64_t seed, const Checks& checks) : layout_(layout), checks_(checks) {
    ranks_.reserve(static_cast<size_t>(layout.world));
    for (int rank = 0; rank < layout.world; ++rank) {
      ranks_.emplace_back(layout, seed, rank);
      ranks_.back().Assign(InitialState(layout, seed, layout.Shard(rank)));
    }
  }

  // One step; what the checks find. It is applied if that is nothing.
  std::vector<Finding> Step(const Touch& touch = [](std::string_view, RankMemory&) {}) {
    const int64_t step = ranks_[0].state.step + 1;
    const bool peer = IsDue(checks_.peer_replay_every, step);
    for (RankMemory& rank : ranks_) {
      rank.RunForward(step, peer);
      touch("partial", rank);
    }
    for (RankMemory& rank : ranks_) GatherPartials(rank, peer);
    for (RankMemory& rank : ranks_) {
      rank.RunBackward(peer);
      touch("gradients", rank);
    }
    for (RankMemory& rank : ranks_) GatherGradients(rank);
    std::vector<Record> records;
    for (RankMemory& rank : ranks_) {
      touch("received", rank);
      rank.Reduce();
      touch("reduced", rank);
      records.push_back(rank.RecordOf(step));
      records.back().accuses = rank.Accuse(checks_, step);
    }
    const std::vector<Finding> findings = Judge(checks_, layout_, records, norms_);
    if (!findings.empty()) return findings;
    norms_.Add(SquaredNormOf(layout_, records, 0));
    for (RankMemory& rank : ranks_) {
      rank.ApplyReduced();
      touch("applied", rank);
    }
    return findings;
  }

  RankMemory& rank(int number) { return ranks_[static_cast<size_t>(number)]; }

 private:
  void GatherPartials(RankMemory& to, bool peer) {
    auto out = to.gathered_partials.begin();
    for (int shard = 0; shard < layout_.tensor_parallel; ++shard) {
      const auto block = rank(layout_.Rank(to.Replica(), shard)).PartialBlock(peer);
      out = std::copy(block.begin(), block.end(), out);
    }
  }
  void GatherGradients(RankMemory& to) {
    auto out = to.gathered_gradients.begin();
    for (int replica = 0; replica < layout_.Replicas(); ++replica) {
      const std::vector<float>& block = rank(layout_.Rank(replica, to.Shard())).gradient_block;
      out = std::copy(block.begin(), block.end(), out);
    }
  }

  const Layout layout_;
  const Checks checks_;
  NormHistory norms_;
  std::vector<RankMemory> ranks_;
};

}  // namespace triodrill::shadow::trainer
