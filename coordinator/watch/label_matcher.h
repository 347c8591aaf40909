// Turns labels of an alert or of a series into facts, as the pipeline's profile says what each means and of whom: for
// the monitoring what SignalMatcher is for logs. Pure. Built once a run, then const: any thread may call it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordinator/watch/firing.h"
#include "coordinator/watch/series.h"
#include "triodrill/status.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::watch {

class LabelMatcher {
 public:
  enum class Channel { kWebhook, kAlertmanager };
  struct Query {
    std::string signal;
    std::string text;
    Nanos every{};
  };

  // Fails for an expression that RE2 does not take, and a subject that no label can fill in.
  static Result<LabelMatcher> Create(const v1::PipelineSpec& pipeline, const v1::PartitionSpec& partition);
  LabelMatcher(LabelMatcher&&) noexcept;
  LabelMatcher& operator=(LabelMatcher&&) noexcept;
  ~LabelMatcher();

  bool Needs(Channel channel) const;          // is there a signal of it?
  Nanos Every() const;                        // the shortest that a signal of `kAlertmanager` asks for
  const std::vector<Query>& Queries() const;  // in the profile's order

  // SignalSeen for each signal of the channel that the alert matches, and a Remark where its labels name somebody whom
  // the partition does not have. `where` says what was read: it begins the fact's source.
  std::vector<v1::Fact> Match(Channel channel, const Firing& firing, const std::string& where) const;
  // Likewise for a series of Queries()[query].
  std::vector<v1::Fact> Match(size_t query, const Sample& sample, const std::string& where) const;

 private:
  struct Compiled;
  explicit LabelMatcher(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace triodrill::watch
