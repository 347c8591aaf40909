#include "drills/shadow/trainer/restore.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "drills/shadow/trainer/checkpoint_store.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

// Cut to fit: a message travels in a fixed block.
struct Words {
  char text[200] = {};
};

// A rank's result of the restore, told to all.
struct Outcome {
  int32_t code = 0;  // absl::StatusCode
  int32_t rank = -1;
  int64_t step = kNoState;
  Words words;
};
static_assert(std::is_trivially_copyable_v<Outcome>);

Outcome OutcomeOf(const Status& status, int rank, int64_t step) {
  Outcome outcome;
  outcome.code = static_cast<int32_t>(status.code());
  outcome.rank = rank;
  outcome.step = step;
  const std::string words(status.message());
  std::copy_n(words.begin(), std::min(words.size(), sizeof outcome.words.text - 1), outcome.words.text);
  return outcome;
}

Result<std::vector<Holding>> AskHoldings(Mesh& mesh, const RankMemory& memory) {
  const Holding own{memory.state.step, memory.previous.step};
  std::vector<Holding> all(static_cast<size_t>(memory.layout.world));
  TRIODRILL_RETURN_IF_ERROR(mesh.ShareRecords(&own, all.data(), sizeof own));
  return all;
}

// The state at `step`, which memory has as one of its two.
const State& StateAt(const RankMemory& memory, int64_t step) {
  return memory.state.step == step ? memory.state : memory.previous;
}

// The group's rank `root` has `own` or the reason why not; all of the group get one or the other.
Result<State> Spread(Mesh& mesh, int root, const Result<State>& own, size_t parameters) {
  std::vector<char> block(sizeof(Outcome) + 2 * parameters * sizeof(float));
  const size_t vector_bytes = parameters * sizeof(float);
  char* const weights = block.data() + sizeof(Outcome);
  if (mesh.RankIn(Group::kShard) == root) {
    const Outcome outcome = OutcomeOf(own.status(), root, own.ok() ? own->step : kNoState);
    std::memcpy(block.data(), &outcome, sizeof outcome);
    if (own.ok()) {
      std::memcpy(weights, own->weights.data(), vector_bytes);
      std::memcpy(weights + vector_bytes, own->momentum.data(), vector_bytes);
    }
  }
  TRIODRILL_RETURN_IF_ERROR(mesh.Broadcast(Group::kShard, root, block.data(), block.size()));
  Outcome outcome;
  std::memcpy(&outcome, block.data(), sizeof outcome);
  if (outcome.code != 0) return absl::Status(static_cast<absl::StatusCode>(outcome.code), outcome.words.text);
  State state;
  state.step = outcome.step;
  state.weights.resize(parameters);
  state.momentum.resize(parameters);
  std::memcpy(state.weights.data(), weights, vector_bytes);
  std::memcpy(state.momentum.data(), weights + vector_bytes, vector_bytes);
  return state;
}

Result<State> FromCheckpoint(const Join& join, Mesh& mesh, const RankMemory& memory) {
  const size_t parameters = memory.layout.Parameters();
  Result<State> own = absl::InternalError("not the reader");
  if (mesh.RankIn(Group::kShard) == 0) {
    const CheckpointIdentity identity{memory.seed, memory.Shard(), memory.layout.tensor_parallel};
    own = ReadShard(identity, join.step, parameters, join.verify);
  }
  return Spread(mesh, 0, own, parameters);
}

// A survivor may have applied a step that the others were still making when the collective broke. The checks of that
// step had passed on all ranks, or nobody had applied it: it is as good as the one before, and it is the one that
// stood.
Result<State> FromPeers(Mesh& mesh, const RankMemory& memory) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<Holding> holdings, AskHoldings(mesh, memory));
  const std::optional<Held> held = NewestHeldStep(memory.layout, holdings);
  if (!held)
    return absl::FailedPreconditionError("restore from peers: there is no step of which they hold every shard");
  const int replica = held->replica_of_shard[static_cast<size_t>(memory.Shard())];
  Result<State> own = absl::InternalError("not the peer");
  if (memory.Replica() == replica) own = StateAt(memory, held->step);
  return Spread(mesh, replica, own, memory.layout.Parameters());
}

Result<State> FromMemory(Mesh& mesh, const RankMemory& memory) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<Holding> holdings, AskHoldings(mesh, memory));
  const auto step = NewestCommonStep(holdings);
  if (!step) return absl::FailedPreconditionError("restore from memory: the ranks have no step in common");
  return StateAt(memory, *step);
}

Result<State> Find(const Join& join, Mesh& mesh, const RankMemory& memory) {
  if (join.source == "scratch") return InitialState(memory.layout, memory.seed, memory.Shard());
  if (join.source == "checkpoint") return FromCheckpoint(join, mesh, memory);
  if (join.source == "peers") return FromPeers(mesh, memory);
  if (join.source == "kept") return FromMemory(mesh, memory);
  return absl::FailedPreconditionError(
      Cat("restore from '", join.source, "': no such source; known are scratch, checkpoint, peers, kept"));
}

Status Agree(Mesh& mesh, const RankMemory& memory, const Status& own, int64_t step) {
  const Outcome mine = OutcomeOf(own, memory.rank, step);
  std::vector<Outcome> all(static_cast<size_t>(memory.layout.world));
  TRIODRILL_RETURN_IF_ERROR(mesh.ShareRecords(&mine, all.data(), sizeof mine));
  for (const Outcome& one : all) {
    if (one.code != 0) {
      return absl::Status(static_cast<absl::StatusCode>(one.code), Cat("rank ", one.rank, ": ", one.words.text));
    }
  }
  for (const Outcome& one : all) {
    if (one.step == all[0].step) continue;
    return absl::FailedPreconditionError(
        Cat("rank 0 is at step ", all[0].step, " and rank ", one.rank, " at step ", one.step));
  }
  return Ok();
}

}  // namespace

Status Restore(const Join& join, Mesh& mesh, RankMemory& memory) {
  const Result<State> found = Find(join, mesh, memory);
  if (absl::IsUnavailable(found.status())) return found.status();  // there is nobody to agree with
  TRIODRILL_RETURN_IF_ERROR(Agree(mesh, memory, found.status(), found.ok() ? found->step : kNoState));
  memory.Assign(*found);
  return Ok();
}

}  // namespace triodrill::shadow::trainer
