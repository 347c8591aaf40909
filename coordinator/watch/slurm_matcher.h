// Turns changes in Slurm's answers into facts, as the pipeline's profile says what each means and of whom: what
// SignalMatcher is for logs. Pure. Built once a run, then const: any thread may call it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordinator/watch/slurm_changes.h"
#include "triodrill/status.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::watch {

class SlurmMatcher {
 public:
  // Fails for an expression that RE2 does not take, and a subject that no label can fill in.
  static Result<SlurmMatcher> Create(const v1::PipelineSpec& pipeline, const v1::PartitionSpec& partition);
  SlurmMatcher(SlurmMatcher&&) noexcept;
  SlurmMatcher& operator=(SlurmMatcher&&) noexcept;
  ~SlurmMatcher();

  bool NeedsNodes() const;  // is there a signal of them?
  bool NeedsJobs() const;
  bool IsTheJob(const std::string& name) const;
  Nanos Every() const;  // the shortest that a signal asks for

  // SignalSeen for each signal that the change brings about: one that holds after it and did not before. With a Remark
  // where the change names somebody whom the partition does not have. `where` begins the fact's source.
  std::vector<v1::Fact> Match(const SlurmChange& change, const std::string& where) const;

 private:
  struct Compiled;
  explicit SlurmMatcher(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace triodrill::watch
