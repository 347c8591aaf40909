#include "coordinator/watch/slurm_changes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

Labels LabelsOf(const SlurmJob& job) {
  return {{"job", Cat(job.id)},   {"name", job.name},        {"state", job.state},
          {"reason", job.reason}, {"nodes", job.nodes_text}, {"restarts", Cat(job.restarts)}};
}

SlurmChange Happened(const SlurmJob& job, const char* what, const Instant& at) {
  SlurmChange change{.kind = SlurmChange::Kind::kJobChange, .labels = LabelsOf(job), .was = {}, .was_reason = {}};
  change.labels["change"] = what;
  change.at = at;
  return change;
}

// One for each name of `names` that is not in `without`; both are sorted.
void TellEach(const SlurmJob& job, const char* what, const Instant& at, const std::vector<std::string>& names,
              const std::vector<std::string>& without, std::vector<SlurmChange>& changes) {
  std::vector<std::string> only;
  std::set_difference(names.begin(), names.end(), without.begin(), without.end(), std::back_inserter(only));
  for (std::string& name : only) {
    changes.push_back(Happened(job, what, at));
    changes.back().labels["node"] = std::move(name);
  }
}

}  // namespace

std::vector<SlurmChange> SlurmNodeLooks::Take(const Instant& asked, const std::vector<SlurmNode>& nodes) {
  std::vector<SlurmChange> changes;
  std::map<std::string, SlurmNode> now;
  for (const SlurmNode& node : nodes) now[node.name] = node;
  for (const auto& [name, node] : now) {
    if (!last_begun_) break;
    const auto found = last_.find(name);
    const SlurmNode before = found == last_.end() ? SlurmNode{} : found->second;
    if (before.state == node.state && before.reason == node.reason) continue;
    changes.push_back({.kind = SlurmChange::Kind::kNodeState,
                       .labels = {{"node", name}, {"state", node.state}, {"reason", node.reason}},
                       .was = before.state,
                       .was_reason = before.reason,
                       .at = {*last_begun_, asked.latest}});
  }
  last_ = std::move(now);
  last_begun_ = asked.earliest;
  return changes;
}

std::vector<SlurmChange> SlurmJobLooks::Take(const Instant& asked, const std::vector<SlurmJob>& jobs) {
  std::vector<SlurmChange> changes;
  std::map<int64_t, Known> now;
  for (const SlurmJob& job : jobs) {
    const auto found = last_.find(job.id);
    const bool known = found != last_.end();
    const Known before = known ? found->second : Known{};
    std::vector<std::string> ran_on = before.ran_on;
    if (job.state == "RUNNING") {
      ran_on = job.nodes;
      std::sort(ran_on.begin(), ran_on.end());
    }
    now[job.id] = {job, ran_on};
    if (!last_begun_) continue;
    const Instant at{*last_begun_, asked.latest};
    if (job.state != before.job.state || job.reason != before.job.reason) {
      changes.push_back({.kind = SlurmChange::Kind::kJobState,
                         .labels = LabelsOf(job),
                         .was = before.job.state,
                         .was_reason = before.job.reason,
                         .at = at});
    }
    if (known && job.restarts > before.job.restarts) changes.push_back(Happened(job, "requeued", at));
    if (before.ran_on.empty()) continue;
    TellEach(job, "left", at, before.ran_on, ran_on, changes);
    TellEach(job, "joined", at, ran_on, before.ran_on, changes);
  }
  last_ = std::move(now);
  last_begun_ = asked.earliest;
  return changes;
}

}  // namespace triodrill::watch
