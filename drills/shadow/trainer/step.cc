#include "drills/shadow/trainer/step.h"

#include <cmath>

#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

// Tells apart the time in collectives from the rest of the step, which is this rank's own.
class Stopwatch {
 public:
  explicit Stopwatch(Clock& clock) : clock_(clock), began_(clock.Now()) {}

  template <typename Collective>
  Status Wait(Collective collective) {
    const TimePoint from = clock_.Now();
    Status status = collective();
    waited_ += clock_.Now() - from;
    return status;
  }
  void Tell(Vitals& vitals) const {
    vitals.wait_ns = waited_.count();
    vitals.compute_ns = (clock_.Now() - began_ - waited_).count();
  }

 private:
  Clock& clock_;
  const TimePoint began_;
  Nanos waited_{0};
};

// Forward and backward: from the weights to the own gradient, and with it to the reduced one.
Status ReduceGradients(StepParts& parts, Mesh& mesh, int64_t step, Stopwatch& watch) {
  RankMemory& memory = parts.memory;
  const bool peer = IsDue(parts.checks.peer_replay_every, step);
  parts.vitals.phase = Phase::kCompute;
  parts.workload.Compute();
  TRIODRILL_RETURN_IF_ERROR(parts.kernel.Run());
  memory.RunForward(step, peer);

  parts.vitals.phase = Phase::kForward;
  const auto partial = memory.PartialBlock(peer);
  TRIODRILL_RETURN_IF_ERROR(watch.Wait([&] {
    return mesh.AllGather(Group::kReplica, partial.data(), memory.gathered_partials.data(), partial.size_bytes());
  }));
  parts.vitals.phase = Phase::kCompute;
  memory.RunBackward(peer);
  parts.workload.Gradients();

  parts.vitals.phase = Phase::kReduce;
  TRIODRILL_RETURN_IF_ERROR(watch.Wait([&] {
    return mesh.AllGather(Group::kShard, memory.gradient_block.data(), memory.gathered_gradients.data(),
                          memory.gradient_block.size() * sizeof(float));
  }));
  memory.Reduce();
  parts.workload.Reduced();
  return Ok();
}

Status Verify(StepParts& parts, Mesh& mesh, int64_t step, int64_t durable, Stopwatch& watch,
              std::vector<Record>& records) {
  Record own = parts.memory.RecordOf(step);
  own.accuses = parts.memory.Accuse(parts.checks, step);
  own.durable = durable;
  records.resize(static_cast<size_t>(parts.memory.layout.world));
  parts.vitals.phase = Phase::kVerify;
  TRIODRILL_RETURN_IF_ERROR(watch.Wait([&] { return mesh.ShareRecords(&own, records.data(), sizeof own); }));
  for (size_t rank = 0; rank < records.size(); ++rank) {
    if (records[rank].step == step) continue;
    return absl::InternalError(
        Cat("rank ", parts.memory.rank, " makes step ", step, " and rank ", rank, " step ", records[rank].step));
  }
  return Ok();
}

}  // namespace

StepOutcome MakeStep(StepParts& parts, Mesh& mesh, NormHistory& norms, int64_t durable) {
  RankMemory& memory = parts.memory;
  const int64_t step = memory.state.step + 1;
  StepOutcome outcome;
  Stopwatch watch(parts.clock);
  outcome.status = ReduceGradients(parts, mesh, step, watch);
  if (outcome.status.ok()) outcome.status = Verify(parts, mesh, step, durable, watch, outcome.records);
  if (!outcome.status.ok()) return outcome;

  const double squared_norm = SquaredNormOf(memory.layout, outcome.records, memory.Replica());
  parts.vitals.gradient_norm = std::sqrt(squared_norm);
  parts.vitals.loss = memory.loss;
  outcome.findings = Judge(parts.checks, memory.layout, outcome.records, norms);
  if (!outcome.findings.empty()) return outcome;

  parts.vitals.phase = Phase::kApply;
  norms.Add(SquaredNormOf(memory.layout, outcome.records, 0));
  memory.ApplyReduced();
  parts.workload.Progress(memory.state.step);
  parts.workload.Applied();
  parts.vitals.step = memory.state.step;
  watch.Tell(parts.vitals);
  return outcome;
}

}  // namespace triodrill::shadow::trainer
