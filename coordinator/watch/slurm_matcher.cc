#include "coordinator/watch/slurm_matcher.h"

#include <re2/re2.h>

#include <algorithm>

#include "coordinator/watch/label_subject.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr int64_t kMemory = 16 << 20;  // for one expression
constexpr std::chrono::seconds kUsual{1};

using Kind = SlurmChange::Kind;

struct CompiledSignal {
  LabelSubject subject;
  Kind kind = Kind::kNodeState;
  std::unique_ptr<RE2> state;   // or what happened
  std::unique_ptr<RE2> reason;  // null: any

  bool Holds(const std::string& state_text, const std::string& reason_text) const {
    return RE2::FullMatch(state_text, *state) && (reason == nullptr || RE2::PartialMatch(reason_text, *reason));
  }
  bool BroughtAboutBy(const SlurmChange& change) const {
    if (change.kind != kind) return false;
    if (kind == Kind::kJobChange) return Holds(change.labels.at("change"), change.labels.at("reason"));
    // What was not there before has no state, which an expression may match all the same.
    const bool held = !change.was.empty() && Holds(change.was, change.was_reason);
    return !held && Holds(change.labels.at("state"), change.labels.at("reason"));
  }
};

Result<std::unique_ptr<RE2>> Expression(const std::string& whose, const std::string& text) {
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kMemory);
  auto expression = std::make_unique<RE2>(text, options);
  if (expression->ok()) return expression;
  return absl::InvalidArgumentError(Cat("compile ", whose, ": ", expression->error()));
}

Result<CompiledSignal> Compile(const v1::Signal& signal) {
  const v1::SlurmSource& source = signal.slurm();
  const std::string whose = Cat("signal \"", signal.id(), "\"");
  CompiledSignal one;
  TRIODRILL_ASSIGN_OR_RETURN(one.subject, LabelSubject::Compile(signal));
  std::string text = source.node_state();
  if (!source.job_state().empty()) {
    one.kind = Kind::kJobState;
    text = source.job_state();
  } else if (!source.job_change().empty()) {
    one.kind = Kind::kJobChange;
    text = source.job_change();
  }
  TRIODRILL_ASSIGN_OR_RETURN(one.state, Expression(whose, text));
  if (!source.reason().empty()) {
    TRIODRILL_ASSIGN_OR_RETURN(one.reason, Expression(whose, source.reason()));
  }
  return one;
}

}  // namespace

struct SlurmMatcher::Compiled {
  explicit Compiled(const v1::PartitionSpec& partition) : known(partition) {}
  Named known;
  std::vector<CompiledSignal> signals;
  std::unique_ptr<RE2> job;
  Nanos every{kUsual};
};

SlurmMatcher::SlurmMatcher(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
SlurmMatcher::SlurmMatcher(SlurmMatcher&&) noexcept = default;
SlurmMatcher& SlurmMatcher::operator=(SlurmMatcher&&) noexcept = default;
SlurmMatcher::~SlurmMatcher() = default;

Result<SlurmMatcher> SlurmMatcher::Create(const v1::PipelineSpec& pipeline, const v1::PartitionSpec& partition) {
  auto compiled = std::make_unique<Compiled>(partition);
  TRIODRILL_ASSIGN_OR_RETURN(compiled->job, Expression("spec.slurm.job", pipeline.slurm().job()));
  for (const v1::Signal& signal : pipeline.signals()) {
    if (!signal.has_slurm()) continue;
    TRIODRILL_ASSIGN_OR_RETURN(CompiledSignal one, Compile(signal));
    const Nanos every = signal.slurm().has_every() ? ToNanos(signal.slurm().every()) : Nanos(kUsual);
    compiled->every = compiled->signals.empty() ? every : std::min(compiled->every, every);
    compiled->signals.push_back(std::move(one));
  }
  return SlurmMatcher(std::move(compiled));
}

bool SlurmMatcher::NeedsNodes() const {
  return std::any_of(compiled_->signals.begin(), compiled_->signals.end(),
                     [](const CompiledSignal& signal) { return signal.kind == Kind::kNodeState; });
}
bool SlurmMatcher::NeedsJobs() const {
  return std::any_of(compiled_->signals.begin(), compiled_->signals.end(),
                     [](const CompiledSignal& signal) { return signal.kind != Kind::kNodeState; });
}
bool SlurmMatcher::IsTheJob(const std::string& name) const { return RE2::FullMatch(name, *compiled_->job); }
Nanos SlurmMatcher::Every() const { return compiled_->every; }

std::vector<v1::Fact> SlurmMatcher::Match(const SlurmChange& change, const std::string& where) const {
  std::vector<v1::Fact> facts;
  for (const CompiledSignal& signal : compiled_->signals) {
    if (!signal.BroughtAboutBy(change)) continue;
    v1::SignalSeen said;
    said.set_source(where);
    said.set_raw(RawOfLabels(change.labels, "was", change.was));
    signal.subject.Tell(compiled_->known, change.labels, std::move(said), facts);
  }
  return facts;
}

}  // namespace triodrill::watch
