#include "coordinator/watch/signal_matcher.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "coordinator/watch/utf8.h"
#include "triodrill/slot.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr size_t kLongestRaw = 4096;   // bytes of a line that are kept in the timeline
constexpr int64_t kMemory = 16 << 20;  // for one expression, and for one set of them

// How a field of a Subject is filled in.
struct Part {
  enum class From { kNothing, kLiteral, kFileNode, kGroup, kAddress };
  From from = From::kNothing;
  std::string text;  // the literal, or the group's name
  int group = 0;     // its number
};

struct CompiledSignal {
  std::string id;
  v1::Meaning means = v1::MEANING_UNSPECIFIED;
  std::unique_ptr<RE2> expression;
  Part node;
  Part local_rank;
  int step_group = 0;  // 0: there is none
  int rank_group = 0;
  int shard_group = 0;
  int hash_group = 0;
};

// The signals of one path, as it is written in the profile.
struct Source {
  std::vector<CompiledSignal> signals;
  std::unique_ptr<RE2::Set> set;  // which of them a line matches, in one pass
};

struct File {
  const Source* source = nullptr;
  std::string node;  // whose log it is; "" if the path does not say
};

// One line against one expression.
struct Groups {
  std::vector<re2::StringPiece> pieces;
  std::string_view Get(int group) const { return {pieces[group].data(), pieces[group].size()}; }
};

RE2::Options ExpressionOptions() {
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kMemory);
  return options;
}

Status Invalid(const v1::Signal& signal, std::string_view problem) {
  return absl::InvalidArgumentError(Cat("compile signal \"", signal.id(), "\": ", problem));
}

Result<int> GroupNumber(const v1::Signal& signal, const RE2& expression, const std::string& name) {
  const auto& groups = expression.NamedCapturingGroups();
  const auto found = groups.find(name);
  if (found == groups.end()) {
    return Invalid(signal, Cat("its expression has no group \"", name, "\"; write (?P<", name, ">...)"));
  }
  return found->second;
}

int GroupIfAny(const RE2& expression, const std::string& name) {
  const auto& groups = expression.NamedCapturingGroups();
  const auto found = groups.find(name);
  return found == groups.end() ? 0 : found->second;
}

// "" | literal | ${node} | ${group.NAME} | ${address.NAME}
Result<Part> CompilePart(const v1::Signal& signal, const RE2& expression, std::string_view text) {
  if (text.empty()) return Part{};
  if (text == "${node}") return Part{.from = Part::From::kFileNode, .text = {}};
  if (!absl::StrContains(View(text), "${")) return Part{.from = Part::From::kLiteral, .text = std::string(text)};
  absl::string_view name = View(text);
  Part part;
  if (absl::ConsumePrefix(&name, "${group.")) part.from = Part::From::kGroup;
  if (absl::ConsumePrefix(&name, "${address.")) part.from = Part::From::kAddress;
  if (part.from == Part::From::kNothing || !absl::ConsumeSuffix(&name, "}")) {
    return Invalid(signal, Cat("does not know ", text, "; use ${node}, ${group.NAME} or ${address.NAME}"));
  }
  part.text = std::string(name);
  TRIODRILL_ASSIGN_OR_RETURN(part.group, GroupNumber(signal, expression, part.text));
  return part;
}

// Whose step a progress line tells: as `of` says; otherwise a group `node`, or the node whose log it is.
Status CompleteProgress(const v1::Signal& signal, CompiledSignal& compiled) {
  TRIODRILL_ASSIGN_OR_RETURN(compiled.step_group, GroupNumber(signal, *compiled.expression, "step"));
  const int node_group = GroupIfAny(*compiled.expression, "node");
  const int local_rank_group = GroupIfAny(*compiled.expression, "local_rank");
  if (compiled.node.from == Part::From::kNothing) {
    compiled.node = node_group > 0 ? Part{.from = Part::From::kGroup, .text = "node", .group = node_group}
                                   : Part{.from = Part::From::kFileNode, .text = {}};
  }
  if (compiled.local_rank.from == Part::From::kNothing) {
    compiled.local_rank = local_rank_group > 0
                              ? Part{.from = Part::From::kGroup, .text = "local_rank", .group = local_rank_group}
                              : Part{.from = Part::From::kLiteral, .text = "0"};
  }
  return Ok();
}

Result<CompiledSignal> Compile(const v1::Signal& signal) {
  CompiledSignal compiled{.id = signal.id(), .means = signal.means()};
  compiled.expression = std::make_unique<RE2>(signal.log().match(), ExpressionOptions());
  if (!compiled.expression->ok()) return Invalid(signal, compiled.expression->error());
  const RE2& expression = *compiled.expression;
  TRIODRILL_ASSIGN_OR_RETURN(compiled.node, CompilePart(signal, expression, signal.of().node()));
  TRIODRILL_ASSIGN_OR_RETURN(compiled.local_rank, CompilePart(signal, expression, signal.of().local_rank()));
  compiled.step_group = GroupIfAny(expression, "step");
  compiled.rank_group = GroupIfAny(expression, "rank");
  if (signal.means() == v1::STATE) {
    TRIODRILL_RETURN_IF_ERROR(GroupNumber(signal, expression, "step").status());
    TRIODRILL_ASSIGN_OR_RETURN(compiled.hash_group, GroupNumber(signal, expression, "hash"));
    compiled.shard_group = GroupIfAny(expression, "shard");
  }
  if (signal.means() == v1::PROGRESS) TRIODRILL_RETURN_IF_ERROR(CompleteProgress(signal, compiled));
  if (compiled.node.from == Part::From::kFileNode && !absl::StrContains(signal.log().path(), "${node}")) {
    return Invalid(signal, "nothing says of which node it speaks: use ${node} in its path, or give `of`");
  }
  return compiled;
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(View(text), &number)) return std::nullopt;
  return number;
}

v1::Fact MakeRemark(const Line& line, const CompiledSignal& signal, std::string_view text) {
  v1::Fact fact;
  fact.mutable_remark()->set_text(Cat("signal ", signal.id, ": ", text, " (log ", line.path, ":", line.number, ")"));
  return fact;
}

}  // namespace

struct SignalMatcher::Compiled {
  std::map<std::string, Source> sources;  // by path, as it is written in the profile
  std::map<std::string, File> files;
  std::vector<std::string> paths;
  std::map<std::string, int, std::less<>> slots;  // by node
  std::map<std::string, std::string, std::less<>> node_of_address;

  Status AddFiles(const std::string& written, const Source& source, const std::string& run_dir,
                  const std::string& data_dir);
  Result<std::string> Fill(const Part& part, const File& file, const Groups& groups) const;
  Result<std::string> Name(const CompiledSignal& signal, const File& file, const Groups& groups) const;
  void Tell(const CompiledSignal& signal, const File& file, const Line& line, std::vector<v1::Fact>& facts) const;
};

Status SignalMatcher::Compiled::AddFiles(const std::string& written, const Source& source, const std::string& run_dir,
                                         const std::string& data_dir) {
  const std::string path = absl::StrReplaceAll(written, {{"${run_dir}", run_dir}, {"${data_dir}", data_dir}});
  if (!absl::StrContains(path, "${node}")) files[path] = {.source = &source, .node = ""};
  if (absl::StrContains(path, "${node}")) {
    for (const auto& [node, count] : slots) {
      files[absl::StrReplaceAll(path, {{"${node}", node}})] = {.source = &source, .node = node};
    }
  }
  if (absl::StrContains(absl::StrReplaceAll(path, {{"${node}", ""}}), "${")) {
    return absl::InvalidArgumentError(
        Cat("find log ", written, ": a path knows ${node}, ${run_dir} and ${data_dir} only"));
  }
  return Ok();
}

Result<std::string> SignalMatcher::Compiled::Fill(const Part& part, const File& file, const Groups& groups) const {
  switch (part.from) {
    case Part::From::kNothing:
      return "";
    case Part::From::kLiteral:
      return part.text;
    case Part::From::kFileNode:
      return file.node;
    case Part::From::kGroup:
      return std::string(groups.Get(part.group));
    case Part::From::kAddress:
      break;
  }
  const std::string_view address = groups.Get(part.group);
  const auto found = node_of_address.find(address);
  if (found == node_of_address.end()) {
    return absl::NotFoundError(Cat("no node of the partition has the address \"", address, "\""));
  }
  return found->second;
}

// "" for nobody, a node, or a slot; not found if the partition does not have it.
Result<std::string> SignalMatcher::Compiled::Name(const CompiledSignal& signal, const File& file,
                                                  const Groups& groups) const {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string node, Fill(signal.node, file, groups));
  if (signal.node.from == Part::From::kNothing) return "";
  const auto found = slots.find(node);
  if (found == slots.end()) return absl::NotFoundError(Cat("the partition has no node \"", node, "\""));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string local_rank, Fill(signal.local_rank, file, groups));
  if (signal.local_rank.from == Part::From::kNothing) return node;
  const std::optional<int64_t> index = Number(local_rank);
  if (!index.has_value() || *index < 0 || *index >= found->second) {
    return absl::NotFoundError(Cat("node ", node, " has no slot \"", local_rank, "\""));
  }
  return Slot{.node = node, .local_rank = static_cast<int>(*index)}.Name();
}

void SignalMatcher::Compiled::Tell(const CompiledSignal& signal, const File& file, const Line& line,
                                   std::vector<v1::Fact>& facts) const {
  const RE2& expression = *signal.expression;
  Groups groups{std::vector<re2::StringPiece>(static_cast<size_t>(expression.NumberOfCapturingGroups()) + 1)};
  if (!expression.Match(line.text, 0, line.text.size(), RE2::UNANCHORED, groups.pieces.data(),
                        static_cast<int>(groups.pieces.size()))) {
    return;
  }
  const Result<std::string> named = Name(signal, file, groups);
  std::optional<int64_t> step;
  if (signal.step_group > 0) step = Number(groups.Get(signal.step_group));
  v1::Fact fact;
  if (signal.means == v1::PROGRESS) {
    if (!named.ok() || !step.has_value()) {
      facts.push_back(
          MakeRemark(line, signal, named.ok() ? "its step is not a number" : std::string(named.status().message())));
      return;
    }
    v1::Progress& progress = *fact.mutable_progress();
    progress.set_slot(*named);
    progress.set_node(ParseSlot(*named)->node);
    std::optional<int64_t> rank;
    if (signal.rank_group > 0) rank = Number(groups.Get(signal.rank_group));
    progress.set_rank(static_cast<int32_t>(rank.value_or(-1)));
    progress.set_step(*step);
    facts.push_back(std::move(fact));
    return;
  }
  v1::SignalSeen& seen = *fact.mutable_signal();
  seen.set_signal(signal.id);
  seen.set_means(signal.means);
  seen.set_named(named.ok() ? *named : "");
  seen.set_step(step.value_or(-1));
  if (signal.shard_group > 0) seen.set_shard(std::string(groups.Get(signal.shard_group)));
  if (signal.hash_group > 0) seen.set_hash(std::string(groups.Get(signal.hash_group)));
  seen.set_source(Cat("log ", line.path, ":", line.number));
  const std::string_view raw = PrefixOfCharacters(line.text, kLongestRaw);
  seen.set_raw(Cat(raw, raw.size() < line.text.size() ? kCutMarker : ""));
  facts.push_back(std::move(fact));
  if (!named.ok()) facts.push_back(MakeRemark(line, signal, std::string(named.status().message())));
}

SignalMatcher::SignalMatcher(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
SignalMatcher::SignalMatcher(SignalMatcher&&) noexcept = default;
SignalMatcher& SignalMatcher::operator=(SignalMatcher&&) noexcept = default;
SignalMatcher::~SignalMatcher() = default;

Result<SignalMatcher> SignalMatcher::Create(const v1::PipelineSpec& pipeline, const v1::PartitionSpec& partition,
                                            const std::string& run_dir, const std::string& data_dir) {
  auto compiled = std::make_unique<Compiled>();
  for (const v1::Node& node : partition.nodes()) {
    compiled->slots[node.name()] = std::max(node.slots(), 1);
    if (!node.address().empty()) compiled->node_of_address[node.address()] = node.name();
  }
  for (const v1::Signal& signal : pipeline.signals()) {
    if (!signal.has_log()) continue;
    TRIODRILL_ASSIGN_OR_RETURN(CompiledSignal one, Compile(signal));
    Source& source = compiled->sources[signal.log().path()];
    if (source.set == nullptr) source.set = std::make_unique<RE2::Set>(ExpressionOptions(), RE2::UNANCHORED);
    source.set->Add(signal.log().match(), nullptr);
    source.signals.push_back(std::move(one));
  }
  for (auto& [written, source] : compiled->sources) {
    if (!source.set->Compile()) {
      return absl::ResourceExhaustedError(Cat("compile the signals of ", written, ": too large together"));
    }
    TRIODRILL_RETURN_IF_ERROR(compiled->AddFiles(written, source, run_dir, data_dir));
  }
  for (const auto& [path, file] : compiled->files) compiled->paths.push_back(path);
  return SignalMatcher(std::move(compiled));
}

const std::vector<std::string>& SignalMatcher::Paths() const { return compiled_->paths; }

std::vector<v1::Fact> SignalMatcher::Match(const Line& line) const {
  std::vector<v1::Fact> facts;
  const auto found = compiled_->files.find(line.path);
  if (found == compiled_->files.end()) return facts;
  const Source& source = *found->second.source;
  std::vector<int> matching;
  RE2::Set::ErrorInfo error{};
  if (!source.set->Match(line.text, &matching, &error)) {
    if (error.kind == RE2::Set::kNoError) return facts;
    // Out of memory for all at once: one by one, each within its own.
    matching.clear();
    for (size_t i = 0; i < source.signals.size(); ++i) matching.push_back(static_cast<int>(i));
  }
  std::sort(matching.begin(), matching.end());
  for (const int index : matching) {
    compiled_->Tell(source.signals[static_cast<size_t>(index)], found->second, line, facts);
  }
  return facts;
}

}  // namespace triodrill::watch
