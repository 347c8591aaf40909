#include "drills/shadow/trainer/trainer.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/str_format.h"
#include "drills/shadow/trainer/digest.h"
#include "drills/shadow/trainer/restore.h"
#include "triodrill/exit_code.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {

Trainer::Trainer(const Options& options, Clock& clock, Orders& orders, MeshGuard& guard, Outbox& outbox, Vitals& vitals,
                 ProgressLog& log, const gpu::HeldGpu* device, ShownRank shown)
    : options_(options),
      clock_(clock),
      orders_(orders),
      guard_(guard),
      outbox_(outbox),
      vitals_(vitals),
      log_(log),
      memory_(options.layout, options.seed, options.rank),
      shown_(shown),
      device_(device),
      kernel_(options.step_compute, clock, orders, device),
      writer_(options.keep, [this](const Saved& saved) {
        outbox_.Post(saved);
        if (saved.stage == "durable") log_.Line(Cat("saved step=", saved.step, " rank=0"));
        if (saved.stage == "failed")  // not on standard error: what stands there is a sign of a sick rank
          log_.Line(Cat("not_saved step=", saved.step, " rank=", memory_.rank, ": ", saved.problem));
      }) {
  if (options.rank >= 0) workload_.emplace(memory_);
}

void Trainer::Run() {
  if (device_ != nullptr) OpenGpu();
  for (;;) {
    const ToTrainer order = orders_.Take();
    mesh_.reset();
    if (std::holds_alternative<Stop>(order)) return;
    if (const Join* const join = std::get_if<Join>(&order)) Obey(*join);
    vitals_.phase = Phase::kHalted;
  }
}

// Here, because a context is current on the thread that made it. That of a lost GPU cannot be made; its first step says
// so.
void Trainer::OpenGpu() {
  const Result<GpuStream> stream = GpuStream::Open(StandInDriver(TRIODRILL_LIBDIR), options_.gpu_state, options_.gpu);
  if (stream.ok()) return kernel_.PutOn(*stream);
  if (!device_->lost()) EndWithoutGpu(stream.status());
}

void Trainer::Obey(const Join& join) {
  if (join.epoch <= epoch_) {
    Fail(join.epoch, absl::FailedPreconditionError(Cat("join epoch ", join.epoch, ": epoch ", epoch_, " has been")));
    return;
  }
  epoch_ = join.epoch;
  const Status status = JoinAndTrain(join);
  if (kernel_.lost()) EndWithoutGpu(status);
  if (status.ok()) return;           // a finding, which was said
  mesh_.reset();                     // the others are to see it too, at once
  if (orders_.Superseded()) return;  // what breaks because of a newer order is no failure
  Fail(join.epoch, status);
}

// As a program ends that gets an error from its GPU for each call it makes: nothing in this process can be used again,
// and the connections break with it.
void Trainer::EndWithoutGpu(const Status& status) {
  std::cerr << Cat("rank ", memory_.rank, ": step ", memory_.state.step + 1, ": ", std::string(status.message()), "\n");
  std::_Exit(static_cast<int>(ExitCode::kInternal));
}

void Trainer::Fail(int epoch, const Status& status) {
  Failed failed;
  failed.epoch = epoch;
  failed.step = std::max<int64_t>(memory_.state.step, 0);
  failed.error = std::string(status.message());
  failed.corrupt_checkpoint = absl::IsDataLoss(status) || absl::IsNotFound(status);
  std::cerr << Cat("rank ", memory_.rank, ": ", failed.error, "\n");
  vitals_.phase = Phase::kHalted;
  outbox_.Post(failed);
}

void Trainer::BecomeRank(int rank) {
  if (memory_.rank != rank) memory_.rank = rank;  // the writer may be reading it
  if (!workload_) workload_.emplace(memory_);
  workload_->SetRank(rank, options_.layout.world);
  shown_.Show(rank);
}

Status Trainer::JoinAndTrain(const Join& join) {
  vitals_.phase = Phase::kJoin;
  writer_.Restart();
  host_copy_.reset();
  published_ = -1;
  if (join.world != options_.layout.world || join.rank < 0 || join.rank >= join.world) {
    return absl::FailedPreconditionError(Cat("join as rank ", join.rank, " of ", join.world,
                                             ": this trainer was started for a world of ", options_.layout.world));
  }
  BecomeRank(join.rank);
  const MeshPlan plan{options_.layout, join.rank, options_.address, join.store};
  TRIODRILL_ASSIGN_OR_RETURN(mesh_, Mesh::Connect(plan, guard_, vitals_, [this] { return orders_.Superseded(); }));
  TRIODRILL_RETURN_IF_ERROR(Restore(join, *mesh_, memory_));
  vitals_.step = memory_.state.step;
  workload_->Progress(memory_.state.step);
  log_.Line(Cat("restored step=", memory_.state.step, " rank=", memory_.rank, " source=", join.source,
                " epoch=", join.epoch));
  outbox_.Post(Joined{join.epoch, memory_.state.step, join.source});
  return Train();
}

Status Trainer::Train() {
  StepParts parts{options_.checks, clock_, kernel_, memory_, *workload_, vitals_};
  NormHistory norms;
  for (;;) {
    const StepOutcome outcome = MakeStep(parts, *mesh_, norms, writer_.durable());
    TRIODRILL_RETURN_IF_ERROR(outcome.status);
    if (!outcome.findings.empty()) {
      SayFindings(memory_.state.step + 1, outcome.findings);
      return Ok();
    }
    AfterStep(outcome);
    if (orders_.Superseded()) return absl::CancelledError("a newer order came");
  }
}

void Trainer::SayFindings(int64_t step, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::cerr << Cat("rank ", memory_.rank, ": step ", step, ": ", finding.check, ": ", finding.detail, "\n");
    outbox_.Post(Suspect{step, finding.check, finding.rank, finding.detail});
  }
}

void Trainer::AfterStep(const StepOutcome& outcome) {
  const int64_t step = memory_.state.step;
  log_.Line(absl::StrFormat("step=%d rank=%d local_rank=%d loss=%.4f", step, memory_.rank, options_.local_rank,
                            memory_.loss));
  PersistIfAgreed(outcome.records);
  PublishIfDurable(outcome.records);
  if (step % options_.checkpoint_every != 0) return;
  vitals_.phase = Phase::kCheckpoint;
  TakeCheckpoint();
}

void Trainer::TakeCheckpoint() {
  const int64_t step = memory_.state.step;
  workload_->CheckpointHost();
  const uint64_t hash = StateHash(memory_.state);
  log_.Line(absl::StrFormat("state step=%d rank=%d shard=%d hash=%016x", step, memory_.rank, memory_.Shard(), hash));
  if (!WritesCheckpoints()) return;
  host_copy_ = HostCopy{memory_.state, hash};
  outbox_.Post(Saved{step, "host", ""});
}

// A checkpoint of a state that is not the group's would bring the corruption back with every restore. So the copy waits
// for the step after it, whose checks compare the state it was taken from; without that check it need not wait for
// them.
void Trainer::PersistIfAgreed(const std::vector<Record>& records) {
  if (!host_copy_) return;
  HostCopy copy = *std::exchange(host_copy_, std::nullopt);
  if (options_.checks.state_hash && records[static_cast<size_t>(memory_.rank)].state_hash != copy.hash) {
    outbox_.Post(Saved{copy.state.step, "failed", "the copy in host memory is not the state that was agreed on"});
    return;
  }
  workload_->CheckpointPersist();
  const CheckpointIdentity identity{memory_.seed, memory_.Shard(), memory_.layout.tensor_parallel};
  writer_.Persist(identity, std::move(copy.state));
}

// Rank 0 moves `latest`, once every shard's writer has told all that the step is on disk.
void Trainer::PublishIfDurable(const std::vector<Record>& records) {
  if (memory_.rank != 0) return;
  const int64_t step = records[0].durable;
  for (int shard = 1; shard < memory_.layout.tensor_parallel; ++shard) {
    if (records[static_cast<size_t>(shard)].durable != step) return;
  }
  if (step <= published_) return;
  published_ = step;
  writer_.Publish(step);
}

}  // namespace triodrill::shadow::trainer
