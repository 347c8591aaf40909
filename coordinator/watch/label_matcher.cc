#include "coordinator/watch/label_matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "coordinator/watch/line.h"
#include "coordinator/watch/utf8.h"
#include "nlohmann/json.hpp"
#include "triodrill/slot.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr size_t kLongestRaw = 4096;   // bytes of the labels that are kept in the timeline
constexpr int64_t kMemory = 16 << 20;  // for one expression
constexpr std::chrono::seconds kUsual{1};

// How a field of a Subject is filled in.
struct Part {
  enum class From { kNothing, kLiteral, kLabel, kAddress };
  From from = From::kNothing;
  std::string text;  // the literal, or the label's name
};

struct CompiledSignal {
  std::string id;
  v1::Meaning means = v1::MEANING_UNSPECIFIED;
  std::unique_ptr<RE2> alert;  // null for a query
  Part node;
  Part local_rank;
};

Result<Part> CompilePart(const std::string& signal, const std::string& text) {
  if (text.empty()) return Part{};
  absl::string_view name = text;
  Part part{.from = Part::From::kLiteral, .text = text};
  if (!absl::ConsumePrefix(&name, "${")) return part;
  if (absl::ConsumePrefix(&name, "label.")) part.from = Part::From::kLabel;
  if (absl::ConsumePrefix(&name, "address.")) part.from = Part::From::kAddress;
  if (part.from == Part::From::kLiteral || !absl::ConsumeSuffix(&name, "}") || name.empty()) {
    return absl::InvalidArgumentError(Cat("compile signal \"", signal, "\": no label can fill in ", text,
                                          "; write ${label.NAME} or ${address.NAME}"));
  }
  part.text = std::string(name);
  return part;
}

Result<CompiledSignal> Compile(const v1::Signal& signal, const std::string* alert) {
  CompiledSignal one{.id = signal.id(), .means = signal.means()};
  TRIODRILL_ASSIGN_OR_RETURN(one.node, CompilePart(signal.id(), signal.of().node()));
  TRIODRILL_ASSIGN_OR_RETURN(one.local_rank, CompilePart(signal.id(), signal.of().local_rank()));
  if (alert == nullptr) return one;
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kMemory);
  one.alert = std::make_unique<RE2>(*alert, options);
  if (!one.alert->ok()) {
    return absl::InvalidArgumentError(Cat("compile signal \"", signal.id(), "\": ", one.alert->error()));
  }
  return one;
}

std::string RawOf(const Labels& labels, const char* name, const std::string& value) {
  nlohmann::json raw = nlohmann::json::object();
  raw["labels"] = labels;
  raw[name] = value;
  const std::string text = raw.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string_view kept = PrefixOfCharacters(text, kLongestRaw);
  return Cat(kept, kept.size() < text.size() ? kCutMarker : "");
}

Nanos EveryOr(const google::protobuf::Duration& every, bool given) { return given ? ToNanos(every) : Nanos(kUsual); }

}  // namespace

struct LabelMatcher::Compiled {
  std::vector<CompiledSignal> webhook;
  std::vector<CompiledSignal> alertmanager;
  std::vector<CompiledSignal> series;  // beside `queries`
  std::vector<Query> queries;
  Nanos every{kUsual};
  std::map<std::string, int> slots;  // by node
  std::map<std::string, std::string> node_of_address;

  Result<std::string> Fill(const Part& part, const Labels& labels) const;
  Result<std::string> Name(const CompiledSignal& signal, const Labels& labels) const;
  void Tell(const CompiledSignal& signal, const Labels& labels, v1::SignalSeen said,
            std::vector<v1::Fact>& facts) const;
};

Result<std::string> LabelMatcher::Compiled::Fill(const Part& part, const Labels& labels) const {
  if (part.from == Part::From::kNothing || part.from == Part::From::kLiteral) return part.text;
  const auto label = labels.find(part.text);
  if (label == labels.end()) return absl::NotFoundError(Cat("there is no label \"", part.text, "\""));
  if (part.from == Part::From::kLabel) return label->second;
  // Prometheus' own label `instance` has the exporter's port behind the address.
  const auto found = node_of_address.find(label->second.substr(0, label->second.rfind(':')));
  if (found != node_of_address.end()) return found->second;
  return absl::NotFoundError(Cat("no node of the partition has the address \"", label->second, "\""));
}

// "" for nobody, a node, or a slot; not found if the partition does not have it.
Result<std::string> LabelMatcher::Compiled::Name(const CompiledSignal& signal, const Labels& labels) const {
  if (signal.node.from == Part::From::kNothing) return "";
  TRIODRILL_ASSIGN_OR_RETURN(const std::string node, Fill(signal.node, labels));
  const auto found = slots.find(node);
  if (found == slots.end()) return absl::NotFoundError(Cat("the partition has no node \"", node, "\""));
  if (signal.local_rank.from == Part::From::kNothing) return node;
  TRIODRILL_ASSIGN_OR_RETURN(const std::string local_rank, Fill(signal.local_rank, labels));
  int index = -1;
  if (!absl::SimpleAtoi(local_rank, &index) || index < 0 || index >= found->second) {
    return absl::NotFoundError(Cat("node ", node, " has no slot \"", local_rank, "\""));
  }
  return Slot{.node = node, .local_rank = index}.Name();
}

void LabelMatcher::Compiled::Tell(const CompiledSignal& signal, const Labels& labels, v1::SignalSeen said,
                                  std::vector<v1::Fact>& facts) const {
  const Result<std::string> named = Name(signal, labels);
  v1::Fact fact;
  *fact.mutable_signal() = std::move(said);
  v1::SignalSeen& seen = *fact.mutable_signal();
  seen.set_signal(signal.id);
  seen.set_means(signal.means);
  seen.set_named(named.ok() ? *named : "");
  seen.set_step(-1);
  const std::string source = seen.source();
  facts.push_back(std::move(fact));
  if (named.ok()) return;
  v1::Fact remark;
  remark.mutable_remark()->set_text(
      Cat("signal ", signal.id, ": ", std::string(named.status().message()), " (", source, ")"));
  facts.push_back(std::move(remark));
}

LabelMatcher::LabelMatcher(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
LabelMatcher::LabelMatcher(LabelMatcher&&) noexcept = default;
LabelMatcher& LabelMatcher::operator=(LabelMatcher&&) noexcept = default;
LabelMatcher::~LabelMatcher() = default;

Result<LabelMatcher> LabelMatcher::Create(const v1::PipelineSpec& pipeline, const v1::PartitionSpec& partition) {
  auto compiled = std::make_unique<Compiled>();
  for (const v1::Node& node : partition.nodes()) {
    compiled->slots[node.name()] = std::max(node.slots(), 1);
    if (!node.address().empty()) compiled->node_of_address[node.address()] = node.name();
  }
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
    said.set_raw(RawOf(firing.labels, "fingerprint", firing.fingerprint));
    said.set_claimed_time(firing.starts_at);
    compiled_->Tell(signal, firing.labels, std::move(said), facts);
  }
  return facts;
}

std::vector<v1::Fact> LabelMatcher::Match(size_t query, const Sample& sample, const std::string& where) const {
  std::vector<v1::Fact> facts;
  v1::SignalSeen said;
  said.set_source(Cat(where, ": query ", compiled_->queries[query].text));
  said.set_raw(RawOf(sample.labels, "value", sample.value));
  compiled_->Tell(compiled_->series[query], sample.labels, std::move(said), facts);
  return facts;
}

}  // namespace triodrill::watch
