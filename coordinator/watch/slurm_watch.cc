#include "coordinator/watch/slurm_watch.h"

#include <algorithm>

#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr std::chrono::seconds kUsualTimeout{5};
constexpr std::chrono::seconds kShortestPatience{3};
constexpr int kMissedAnswers = 3;  // and as many of its own periods
constexpr size_t kMostAnswer = size_t{32} << 20;
constexpr char kUsualCommands[] = "/usr/bin";
constexpr char kNodesCommand[] = "sinfo";
constexpr char kJobsCommand[] = "squeue";

}  // namespace

Result<std::unique_ptr<SlurmWatch>> SlurmWatch::Start(const v1::PipelineSpec& pipeline,
                                                      const v1::PartitionSpec& partition, Clock& clock,
                                                      ObservedSink sink) {
  if (!pipeline.has_slurm()) return std::unique_ptr<SlurmWatch>();
  TRIODRILL_ASSIGN_OR_RETURN(SlurmMatcher matcher, SlurmMatcher::Create(pipeline, partition));
  std::unique_ptr<SlurmWatch> watch(new SlurmWatch(pipeline.slurm(), std::move(matcher), clock, std::move(sink)));
  TRIODRILL_RETURN_IF_ERROR(watch->Begin(partition));
  return watch;
}

SlurmWatch::SlurmWatch(v1::Slurm slurm, SlurmMatcher matcher, Clock& clock, ObservedSink sink)
    : slurm_(std::move(slurm)),
      matcher_(std::move(matcher)),
      timeout_(slurm_.has_timeout() ? ToNanos(slurm_.timeout()) : Nanos(kUsualTimeout)),
      clock_(clock),
      sink_(std::move(sink)) {}

SlurmWatch::~SlurmWatch() {
  thread_.request_stop();
  wake_.notify_all();
}

// The first answers are waited for: what is so already must be known before anything counts.
Status SlurmWatch::Begin(const v1::PartitionSpec& partition) {
  TRIODRILL_RETURN_IF_ERROR(AskNodes());
  for (const v1::Node& node : partition.nodes()) {
    const bool known =
        std::any_of(nodes_.begin(), nodes_.end(), [&](const SlurmNode& one) { return one.name == node.name(); });
    if (known) continue;
    return absl::NotFoundError(Cat("watch Slurm: its partition ", slurm_.partition(), " has no node ", node.name(),
                                   "; see spec.slurm.partition, and sinfo -N -p ", slurm_.partition()));
  }
  const Nanos patience = std::max<Nanos>(kShortestPatience, kMissedAnswers * matcher_.Every());
  node_outage_ = std::make_unique<Outage>("slurm", patience, clock_.Now());
  if (matcher_.NeedsJobs()) {
    TRIODRILL_RETURN_IF_ERROR(AskJobs());
    job_outage_ = std::make_unique<Outage>("slurm", patience, clock_.Now());
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  return Ok();
}

void SlurmWatch::Run(const std::stop_token& stop) {
  TimePoint due = clock_.Now() + matcher_.Every();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const Nanos left = due - clock_.Now();
      if (left > Nanos{0}) wake_.wait_for(lock, stop, left, [] { return false; });
    }
    if (stop.stop_requested()) return;
    due = std::max(due + matcher_.Every(), clock_.Now());
    Settle(*node_outage_, AskNodes());
    if (job_outage_ == nullptr || stop.stop_requested()) continue;
    Settle(*job_outage_, AskJobs());
  }
}

Result<coordinator::Reply> SlurmWatch::Ask(const char* command) const {
  const std::string directory = slurm_.commands().empty() ? kUsualCommands : slurm_.commands();
  return coordinator::AskProgram({.argv = {Cat(directory, "/", command), "--json"},
                                  .env = {Cat("SLURM_CONF=", slurm_.conf())},
                                  .most_output = kMostAnswer},
                                 clock_, timeout_);
}

Status SlurmWatch::AskNodes() {
  TRIODRILL_ASSIGN_OR_RETURN(const coordinator::Reply reply, Ask(kNodesCommand));
  TRIODRILL_ASSIGN_OR_RETURN(std::vector<SlurmNode> nodes, ParseSlurmNodes(reply.out, slurm_.partition()));
  const std::vector<SlurmChange> changes = node_looks_.Take(reply.at, nodes);
  {
    const std::lock_guard lock(mutex_);
    nodes_ = std::move(nodes);
  }
  HandOn(changes, kNodesCommand);
  return Ok();
}

Status SlurmWatch::AskJobs() {
  TRIODRILL_ASSIGN_OR_RETURN(const coordinator::Reply reply, Ask(kJobsCommand));
  TRIODRILL_ASSIGN_OR_RETURN(std::vector<SlurmJob> jobs, ParseSlurmJobs(reply.out, slurm_.partition()));
  std::erase_if(jobs, [this](const SlurmJob& job) { return !matcher_.IsTheJob(job.name); });
  HandOn(job_looks_.Take(reply.at, jobs), kJobsCommand);
  return Ok();
}

void SlurmWatch::HandOn(const std::vector<SlurmChange>& changes, const char* command) {
  std::vector<Observed> seen;
  const std::string where = Cat("slurm ", command, " --json, partition ", slurm_.partition());
  for (const SlurmChange& change : changes) {
    for (v1::Fact& fact : matcher_.Match(change, where)) seen.push_back({std::move(fact), change.at});
  }
  if (!seen.empty()) sink_(std::move(seen));
}

void SlurmWatch::Settle(Outage& outage, const Status& status) {
  const TimePoint now = clock_.Now();
  std::optional<Outage::Told> told;
  {
    const std::lock_guard lock(mutex_);
    told = outage.Take(status, now);
  }
  if (!told) return;
  v1::Fact fact;
  *fact.mutable_monitoring_gap() = std::move(told->gap);
  sink_({{std::move(fact), told->at}});
}

std::vector<std::string> SlurmWatch::Problems() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> problems;
  for (const Outage* outage : {node_outage_.get(), job_outage_.get()}) {
    if (outage != nullptr && !outage->problem().empty()) problems.push_back(outage->problem());
  }
  return problems;
}

std::vector<std::string> SlurmWatch::OutOfServiceNow() const {
  const std::lock_guard lock(mutex_);
  return OutOfService(nodes_);
}

}  // namespace triodrill::watch
