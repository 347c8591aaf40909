#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "coordinator/load/rules.h"
#include "re2/re2.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/enums.h"
#include "triodrill/schema/nearest.h"
#include "triodrill/text.h"

namespace triodrill::load {
namespace {

using Names = std::vector<std::string>;

const Names& WorkloadPlaceholders() {
  static const auto* const names = new Names{"node",          "node_index", "nodes",    "address", "first_node",
                                             "first_address", "run_dir",    "data_dir", "bin_dir", "partition_file"};
  return *names;
}
// Those of no one node.
const Names& ReferencePlaceholders() {
  static const auto* const names =
      new Names{"nodes", "first_node", "first_address", "run_dir", "data_dir", "bin_dir", "partition_file", "steps"};
  return *names;
}
const Names& PathPlaceholders() {
  static const auto* const names = new Names{"node", "run_dir", "data_dir"};
  return *names;
}

// Every ${…} of `text` is closed and known.
void CheckPlaceholders(std::string_view text, const Names& known, const std::string& path,
                       const Complaints& complaints) {
  for (size_t open = text.find("${"); open != std::string_view::npos; open = text.find("${", open + 2)) {
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos) return complaints.Add(path, "a ${ is not closed", "add }");
    const std::string name(text.substr(open + 2, close - open - 2));
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    complaints.Add(path, Cat("there is no ${", name, "}"), SuggestFrom(name, known));
  }
}

bool IsVariableName(std::string_view text) {
  const auto letter = [](char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

bool HasGroup(const RE2& expression, const std::string& name) {
  return expression.NamedCapturingGroups().contains(name);
}

void CheckReference(const v1::Reference& reference, const Complaints& complaints) {
  const std::string path = "spec.workload.reference";
  for (int i = 0; i < reference.command_size(); ++i) {
    CheckPlaceholders(reference.command(i), ReferencePlaceholders(), Cat(path, ".command[", i, "]"), complaints);
  }
  const RE2 match(reference.match(), RE2::Quiet);
  for (const char* const group : {"step", "hash"}) {
    if (HasGroup(match, group)) continue;
    complaints.Add(path + ".match", Cat("the expression has no group `", group, "`"), Cat("write (?P<", group, ">…)"));
  }
}

void CheckWorkload(const v1::Workload& workload, const Complaints& complaints) {
  for (int i = 0; i < workload.command_size(); ++i) {
    CheckPlaceholders(workload.command(i), WorkloadPlaceholders(), Cat("spec.workload.command[", i, "]"), complaints);
  }
  std::set<std::string> names;
  for (int i = 0; i < workload.env_size(); ++i) {
    const std::string path = Cat("spec.workload.env[", i, "]");
    const std::string& entry = workload.env(i);
    const size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (equals == std::string::npos || !IsVariableName(name)) {
      complaints.Add(path, Cat("`", entry, "` is not NAME=value"), "write it like OMP_NUM_THREADS=1");
      continue;
    }
    if (!names.insert(name).second) complaints.Add(path, Cat("`", name, "` is set twice"), "keep one");
    CheckPlaceholders(entry, WorkloadPlaceholders(), path, complaints);
  }
  if (workload.has_reference()) CheckReference(workload.reference(), complaints);
  const v1::RankProcess& process = workload.rank_process();
  const std::string path = "spec.workload.rank_process";
  for (const auto& [field, name] :
       {std::pair("rank_env", process.rank_env()), {"local_rank_env", process.local_rank_env()}}) {
    if (IsVariableName(name)) continue;
    complaints.Add(Cat(path, ".", field), Cat("`", name, "` is no name of an environment variable"), "like RANK");
  }
  if (RE2::PartialMatch("", process.command_line())) {
    complaints.Add(path + ".command_line", "it matches every process there is", "match the worker's own words");
  }
}

// "${group.step}" -> {"group", "step"}; nullopt if `text` is no such reference.
struct Reference {
  std::string kind;
  std::string name;
};
std::optional<Reference> ParseReference(std::string_view text) {
  if (!text.starts_with("${") || !text.ends_with("}")) return std::nullopt;
  const std::string inner(text.substr(2, text.size() - 3));
  const size_t dot = inner.find('.');
  if (dot == std::string::npos) return Reference{inner, ""};
  return Reference{inner.substr(0, dot), inner.substr(dot + 1)};
}

class SignalCheck {
 public:
  SignalCheck(const v1::Signal& signal, std::string path, const Complaints& complaints)
      : signal_(signal), path_(std::move(path)), complaints_(complaints), regex_(signal.log().match()) {
    for (const auto& [name, index] : regex_.NamedCapturingGroups()) groups_.push_back(name);
  }

  void Run() {
    CheckPlaceholders(signal_.log().path(), PathPlaceholders(), path_ + ".log.path", complaints_);
    if (RE2::PartialMatch("", regex_)) {
      complaints_.Add(path_ + ".log.match", "it matches every line, the empty one, too", "match the words of the line");
    }
    const bool state = signal_.means() == v1::STATE;
    const bool needs_step = state || signal_.means() == v1::PROGRESS || signal_.means() == v1::RESTORED;
    if (state && !HasGroup("hash")) {
      complaints_.Add(path_ + ".log.match", "a signal that means state needs the group `hash`",
                      "write (?P<hash>[0-9a-f]+) where it stands");
    }
    if (needs_step && !HasGroup("step")) {
      complaints_.Add(path_ + ".log.match",
                      Cat("a signal that means ", absl::AsciiStrToLower(v1::Meaning_Name(signal_.means())),
                          " needs the group `step`"),
                      "write (?P<step>\\d+) where the number stands");
    }
    if (signal_.means() == v1::PROGRESS && !PathKnowsItsNode() && signal_.of().node().empty()) {
      complaints_.Add(path_, "nothing says whose progress it is", "use ${node} in the path, or give `of`");
    }
    if (signal_.has_of()) Subject(signal_.of());
  }

 private:
  bool HasGroup(const std::string& name) const {
    return std::find(groups_.begin(), groups_.end(), name) != groups_.end();
  }
  bool PathKnowsItsNode() const { return signal_.log().path().find("${node}") != std::string::npos; }

  void Subject(const v1::Subject& of) const {
    if (of.node().empty()) {
      const std::string hint = "add node: ${node} or another";
      return complaints_.Add(path_ + ".of", "`of` names no node", hint);
    }
    Named(of.node(), path_ + ".of.node", /*may_be_node=*/true);
    const std::string& slot = of.local_rank();
    const bool number = !slot.empty() && slot.size() <= 4 && std::all_of(slot.begin(), slot.end(), absl::ascii_isdigit);
    if (!slot.empty() && !number) Named(slot, path_ + ".of.local_rank", /*may_be_node=*/false);
  }

  // A literal, or a reference to something that this signal has.
  void Named(const std::string& text, const std::string& path, bool may_be_node) const {
    const auto reference = ParseReference(text);
    if (!reference && may_be_node && text.find("${") == std::string::npos) return;
    const bool own_node = reference && may_be_node && reference->kind == "node" && reference->name.empty();
    if (own_node && PathKnowsItsNode()) return;
    if (own_node)
      return complaints_.Add(path, "${node} is not in the path of this log", "name the node in another way");
    const bool known_kind = reference && !reference->name.empty() &&
                            (reference->kind == "group" || (may_be_node && reference->kind == "address"));
    if (!known_kind) {
      return complaints_.Add(
          path, Cat("`", text, "` names nobody"),
          may_be_node ? "write a node, ${node}, ${group.NAME} or ${address.NAME}" : "write a number or ${group.NAME}");
    }
    if (HasGroup(reference->name)) return;
    complaints_.Add(path, Cat("the expression has no group `", reference->name, "`"),
                    groups_.empty() ? "write (?P<NAME>…) in `match`" : SuggestFrom(reference->name, groups_));
  }

  const v1::Signal& signal_;
  const std::string path_;
  const Complaints& complaints_;
  const RE2 regex_;
  Names groups_;
};

void CheckSignals(const v1::PipelineSpec& spec, const Complaints& complaints) {
  std::set<std::string> ids;
  bool progress = false;
  for (int i = 0; i < spec.signals_size(); ++i) {
    const v1::Signal& signal = spec.signals(i);
    const std::string path = Cat("spec.signals[", i, "]");
    if (!ids.insert(signal.id()).second) {
      complaints.Add(path + ".id", Cat("two signals are called `", signal.id(), "`"), "give each its own id");
    }
    progress = progress || signal.means() == v1::PROGRESS;
    const int sources = signal.has_log() + signal.has_alertmanager_webhook() + signal.has_alertmanager() +
                        signal.has_prometheus() + signal.has_slurm();
    if (sources == 0) complaints.Add(path, "the signal has no source", "add log: {path: …, match: …}");
    if (sources > 1) complaints.Add(path, "the signal has more than one source", "make a signal of each");
    if (sources != 1) continue;
    if (signal.has_log()) SignalCheck(signal, path, complaints).Run();
    if (signal.has_slurm()) CheckSlurmSignal(signal, spec, path, complaints);
    if (!signal.has_log() && !signal.has_slurm()) CheckLabelSignal(signal, spec.monitoring(), path, complaints);
  }
  if (!progress) {
    complaints.Add("spec.signals", "no signal means progress: neither a baseline nor a recovery could be seen",
                   "add one with means: progress");
  }
}

void CheckFloors(const v1::PipelineSpec& spec, const Complaints& complaints) {
  Names kinds;
  for (const FaultRow& row : FaultCatalogue()) kinds.push_back(row.kind);
  for (int i = 0; i < spec.floors_size(); ++i) {
    const std::string& kind = spec.floors(i).fault();
    if (FindFaultRow(kind) != nullptr) continue;
    complaints.Add(Cat("spec.floors[", i, "].fault"), Cat("unknown fault `", kind, "`"), SuggestFrom(kind, kinds));
  }
}

}  // namespace

void CheckPipeline(const v1::Pipeline& pipeline, const Complaints& complaints) {
  const v1::PipelineSpec& spec = pipeline.spec();
  CheckPlainMetadata(complaints);
  CheckWorkload(spec.workload(), complaints);
  CheckMonitoring(spec, complaints);
  CheckSlurm(spec, complaints);
  CheckSignals(spec, complaints);
  CheckStepNames(spec.not_applicable(), "spec.not_applicable", complaints);
  CheckFloors(spec, complaints);
}

}  // namespace triodrill::load
