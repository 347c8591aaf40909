#include "drills/shadow/trainer/workload_link.h"

#include "triodrill/workload.h"

namespace triodrill::shadow::trainer {
namespace {

void Register(const char* name, std::span<float> tensor) {
  triodrill_register_tensor(name, tensor.data(), tensor.size(), TRIODRILL_FLOAT32);
}

}  // namespace

WorkloadLink::WorkloadLink(RankMemory& memory) {
  triodrill_attach(memory.rank, memory.layout.world);
  Register("weights", memory.state.weights);
  Register("optimizer", memory.state.momentum);
  Register("gradients", memory.gradient());
  Register("reduced_gradients", memory.reduced);
  compute_ = triodrill_phase_id("compute");
  gradients_ = triodrill_phase_id("gradients");
  reduced_ = triodrill_phase_id("reduced");
  applied_ = triodrill_phase_id("applied");
  checkpoint_host_ = triodrill_phase_id("checkpoint.host");
  checkpoint_persist_ = triodrill_phase_id("checkpoint.persist");
}

WorkloadLink::~WorkloadLink() { triodrill_detach(); }

void WorkloadLink::SetRank(int rank, int world) { triodrill_set_rank(rank, world); }
void WorkloadLink::Progress(int64_t step) { triodrill_progress(static_cast<uint64_t>(step)); }
void WorkloadLink::Compute() { triodrill_phase(compute_); }
void WorkloadLink::Gradients() { triodrill_phase(gradients_); }
void WorkloadLink::Reduced() { triodrill_phase(reduced_); }
void WorkloadLink::Applied() { triodrill_phase(applied_); }
void WorkloadLink::CheckpointHost() { triodrill_phase(checkpoint_host_); }
void WorkloadLink::CheckpointPersist() { triodrill_phase(checkpoint_persist_); }

}  // namespace triodrill::shadow::trainer
