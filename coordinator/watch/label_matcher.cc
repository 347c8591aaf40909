#include "coordinator/watch/label_matcher.h"

#include <re2/re2.h>

#include <algorithm>

#include "coordinator/watch/label_subject.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr int64_t kMemory = 16 << 20;  // for one expression
constexpr std::chrono::seconds kUsual{1};

struct CompiledSignal {
  LabelSubject subject;
  std::unique_ptr<RE2> alert;  // null for a query
};

Result<CompiledSignal> Compile(const v1::Signal& signal, const std::string* alert) {
  CompiledSignal one;
  TRIODRILL_ASSIGN_OR_RETURN(one.subject, LabelSubject::Compile(signal));
  if (alert == nullptr) return one;
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kMemory);
  one.alert = std::make_unique<RE2>(*alert, options);
  if (!one.alert->ok()) {
    return absl::InvalidArgumentError(Cat("compile signal \"", signal.id(), "\": ", one.alert->error()));
  }
  return one;
}

Nanos EveryOr(const google::protobuf::Duration& every, bool given) { return given ? ToNanos(every) : Nanos(kUsual); }

}  // namespace

struct LabelMatcher::Compiled {
  explicit Compiled(const v1::PartitionSpec& partition) : known(partition) {}
  Named known;
  std::vector<CompiledSignal> webhook;
  std::vector<CompiledSignal> alertmanager;
  std::vector<CompiledSignal> series;  // beside `queries`
  std::vector<Query> queries;
  Nanos every{kUsual};
};

LabelMatcher::LabelMatcher(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
LabelMatcher::LabelMatcher(LabelMatcher&&) noexcept = default;
LabelMatcher& LabelMatcher::operator=(LabelMatcher&&) noexcept = default;
LabelMatcher::~LabelMatcher() = default;

Result<LabelMatcher> LabelMatcher::Create(const v1::PipelineSpec& pipeline, const v1::PartitionSpec& partition) {
  auto compiled = std::make_unique<Compiled>(partition);
  for (const v1::Signal& signal : pipeline.signals()) {
    if (signal.has_alertmanager_webhook()) {
      TRIODRILL_ASSIGN_OR_RETURN(CompiledSignal one, Compile(signal, &signal.alertmanager_webhook().alert()));
      compiled->webhook.push_back(std::move(one));
    } else if (signal.has_alertmanager()) {
      TRIODRILL_ASSIGN_OR_RETURN(CompiledSignal one, Compile(signal, &signal.alertmanager().alert()));
      const Nanos every = EveryOr(signal.alertmanager().every(), signal.alertmanager().has_every());
      compiled->every = compiled->alertmanager.empty() ? every : std::min(compiled->every, every);
      compiled->alertmanager.push_back(std::move(one));
    } else if (signal.has_prometheus()) {
      TRIODRILL_ASSIGN_OR_RETURN(CompiledSignal one, Compile(signal, nullptr));
      compiled->series.push_back(std::move(one));
      compiled->queries.push_back({signal.id(), signal.prometheus().query(),
                                   EveryOr(signal.prometheus().every(), signal.prometheus().has_every())});
    }
  }
  return LabelMatcher(std::move(compiled));
}

bool LabelMatcher::Needs(Channel channel) const {
  return !(channel == Channel::kWebhook ? compiled_->webhook : compiled_->alertmanager).empty();
}

Nanos LabelMatcher::Every() const { return compiled_->every; }
const std::vector<LabelMatcher::Query>& LabelMatcher::Queries() const { return compiled_->queries; }

std::vector<v1::Fact> LabelMatcher::Match(Channel channel, const Firing& firing, const std::string& where) const {
  std::vector<v1::Fact> facts;
  const auto name = firing.labels.find("alertname");
  if (name == firing.labels.end()) return facts;
  for (const CompiledSignal& signal : channel == Channel::kWebhook ? compiled_->webhook : compiled_->alertmanager) {
    if (!RE2::FullMatch(name->second, *signal.alert)) continue;
    v1::SignalSeen said;
    said.set_source(Cat(where, ": alert ", name->second));
    said.set_raw(RawOfLabels(firing.labels, "fingerprint", firing.fingerprint));
    said.set_claimed_time(firing.starts_at);
    signal.subject.Tell(compiled_->known, firing.labels, std::move(said), facts);
  }
  return facts;
}

std::vector<v1::Fact> LabelMatcher::Match(size_t query, const Sample& sample, const std::string& where) const {
  std::vector<v1::Fact> facts;
  v1::SignalSeen said;
  said.set_source(Cat(where, ": query ", compiled_->queries[query].text));
  said.set_raw(RawOfLabels(sample.labels, "value", sample.value));
  compiled_->series[query].subject.Tell(compiled_->known, sample.labels, std::move(said), facts);
  return facts;
}

}  // namespace triodrill::watch
