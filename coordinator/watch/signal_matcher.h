// Turns lines into facts, as the pipeline's profile says what each line means and of whom. Pure: no file is opened
// here. Built once a run, then const: any thread may call Match.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordinator/watch/line.h"
#include "triodrill/status.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::watch {

class SignalMatcher {
 public:
  // Compiles every expression once. Fails for an expression RE2 does not take, a placeholder that is not known, a
  // progress signal without a group `step`, and one of which nobody can say whose progress it is.
  static Result<SignalMatcher> Create(const v1::PipelineSpec& pipeline, const v1::PartitionSpec& partition,
                                      const std::string& run_dir, const std::string& data_dir);
  SignalMatcher(SignalMatcher&&) noexcept;
  SignalMatcher& operator=(SignalMatcher&&) noexcept;
  ~SignalMatcher();

  // The files to follow, sorted, each once: one for each node where ${node} is used.
  const std::vector<std::string>& Paths() const;

  // The facts of one line: Progress or SignalSeen for each signal it matches, in the profile's order, and a Remark
  // where the line names somebody whom the partition does not know. `what` alone is filled in: sequence, instant
  // (`line.at`) and trial are the caller's. No fact for a line that means nothing, or of a file that no signal comes
  // from.
  std::vector<v1::Fact> Match(const Line& line) const;

 private:
  struct Compiled;
  explicit SignalMatcher(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace triodrill::watch
