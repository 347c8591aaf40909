#include "coordinator/watch/label_subject.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "coordinator/watch/line.h"
#include "coordinator/watch/utf8.h"
#include "nlohmann/json.hpp"
#include "triodrill/slot.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr size_t kLongestRaw = 4096;  // bytes of the labels that are kept in the timeline

}  // namespace

Named::Named(const v1::PartitionSpec& partition) {
  for (const v1::Node& node : partition.nodes()) {
    slots[node.name()] = std::max(node.slots(), 1);
    if (!node.address().empty()) node_of_address[node.address()] = node.name();
  }
}

Result<LabelSubject::Part> LabelSubject::CompilePart(const std::string& signal, const std::string& text) {
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

Result<LabelSubject> LabelSubject::Compile(const v1::Signal& signal) {
  LabelSubject subject;
  subject.id_ = signal.id();
  subject.means_ = signal.means();
  TRIODRILL_ASSIGN_OR_RETURN(subject.node_, CompilePart(signal.id(), signal.of().node()));
  TRIODRILL_ASSIGN_OR_RETURN(subject.local_rank_, CompilePart(signal.id(), signal.of().local_rank()));
  return subject;
}

Result<std::string> LabelSubject::Fill(const Part& part, const Named& known, const Labels& labels) {
  if (part.from == Part::From::kNothing || part.from == Part::From::kLiteral) return part.text;
  const auto label = labels.find(part.text);
  if (label == labels.end()) return absl::NotFoundError(Cat("there is no label \"", part.text, "\""));
  if (part.from == Part::From::kLabel) return label->second;
  // Prometheus' own label `instance` has the exporter's port behind the address.
  const auto found = known.node_of_address.find(label->second.substr(0, label->second.rfind(':')));
  if (found != known.node_of_address.end()) return found->second;
  return absl::NotFoundError(Cat("no node of the partition has the address \"", label->second, "\""));
}

// "" for nobody, a node, or a slot; not found if the partition does not have it.
Result<std::string> LabelSubject::Name(const Named& known, const Labels& labels) const {
  if (node_.from == Part::From::kNothing) return "";
  TRIODRILL_ASSIGN_OR_RETURN(const std::string node, Fill(node_, known, labels));
  const auto found = known.slots.find(node);
  if (found == known.slots.end()) return absl::NotFoundError(Cat("the partition has no node \"", node, "\""));
  if (local_rank_.from == Part::From::kNothing) return node;
  TRIODRILL_ASSIGN_OR_RETURN(const std::string local_rank, Fill(local_rank_, known, labels));
  int index = -1;
  if (!absl::SimpleAtoi(local_rank, &index) || index < 0 || index >= found->second) {
    return absl::NotFoundError(Cat("node ", node, " has no slot \"", local_rank, "\""));
  }
  return Slot{.node = node, .local_rank = index}.Name();
}

void LabelSubject::Tell(const Named& known, const Labels& labels, v1::SignalSeen said,
                        std::vector<v1::Fact>& facts) const {
  const Result<std::string> named = Name(known, labels);
  v1::Fact fact;
  *fact.mutable_signal() = std::move(said);
  v1::SignalSeen& seen = *fact.mutable_signal();
  seen.set_signal(id_);
  seen.set_means(means_);
  seen.set_named(named.ok() ? *named : "");
  seen.set_step(-1);
  const std::string source = seen.source();
  facts.push_back(std::move(fact));
  if (named.ok()) return;
  v1::Fact remark;
  remark.mutable_remark()->set_text(
      Cat("signal ", id_, ": ", std::string(named.status().message()), " (", source, ")"));
  facts.push_back(std::move(remark));
}

std::string RawOfLabels(const Labels& labels, const char* name, const std::string& value) {
  nlohmann::json raw = nlohmann::json::object();
  raw["labels"] = labels;
  raw[name] = value;
  const std::string text = raw.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string_view kept = PrefixOfCharacters(text, kLongestRaw);
  return Cat(kept, kept.size() < text.size() ? kCutMarker : "");
}

}  // namespace triodrill::watch
