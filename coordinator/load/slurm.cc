#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "coordinator/load/rules.h"
#include "re2/re2.h"
#include "triodrill/schema/nearest.h"
#include "triodrill/text.h"

namespace triodrill::load {
namespace {

using Names = std::vector<std::string>;

// As Slurm itself takes it; a list of them would be several.
bool IsPartitionName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

void CheckAbsolute(const std::string& name, const std::string& path, const Complaints& complaints) {
  if (name.empty() || name.front() == '/') return;
  complaints.Add(path, Cat("`", name, "` is no absolute path"), "write it from / on");
}

// A state is told when it begins: what always holds never does.
void CheckNarrow(const std::string& expression, std::string_view field, std::string_view noun, const std::string& path,
                 const Complaints& complaints) {
  if (expression.empty() || !RE2::FullMatch("", expression)) return;
  complaints.Add(Cat(path, ".", field), Cat("it matches every ", noun, ", even none"),
                 "match the words that are meant");
}

void CheckLabel(const std::string& text, const Names& known, const std::string& path, const Complaints& complaints) {
  static const RE2 kReference(R"(\$\{label\.(\w+)\})");
  std::string name;
  if (!RE2::FullMatch(text, kReference, &name)) return;  // another rule's
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  complaints.Add(path, Cat("such a signal has no label `", name, "`"), SuggestFrom(name, known));
}

// `${label.node}` of a requeueing would name nobody.
Names LabelsOf(const v1::SlurmSource& source) {
  if (!source.node_state().empty()) return {"node", "state", "reason"};
  Names labels = {"job", "name", "state", "reason", "nodes", "restarts"};
  const std::string& change = source.job_change();
  if (change.empty()) return labels;
  labels.emplace_back("change");
  if (!RE2::FullMatch("requeued", change)) labels.emplace_back("node");
  return labels;
}

}  // namespace

void CheckSlurm(const v1::PipelineSpec& spec, const Complaints& complaints) {
  if (!spec.has_slurm()) return;
  const v1::Slurm& slurm = spec.slurm();
  CheckAbsolute(slurm.conf(), "spec.slurm.conf", complaints);
  CheckAbsolute(slurm.commands(), "spec.slurm.commands", complaints);
  if (!IsPartitionName(slurm.partition())) {
    complaints.Add("spec.slurm.partition", Cat("`", slurm.partition(), "` is no name of a partition"),
                   "name the one that is the shadow partition");
  }
  CheckNarrow(slurm.job(), "job", "job", "spec.slurm", complaints);
}

void CheckSlurmSignal(const v1::Signal& signal, const v1::PipelineSpec& spec, const std::string& path,
                      const Complaints& complaints) {
  const v1::SlurmSource& source = signal.slurm();
  const std::string at = path + ".slurm";
  if (!spec.has_slurm()) {
    complaints.Add(at, "the profile does not say where to find Slurm", "add spec.slurm: {conf: …, partition: …}");
  }
  const int kinds = !source.node_state().empty() + !source.job_state().empty() + !source.job_change().empty();
  if (kinds != 1) {
    return complaints.Add(at, kinds == 0 ? "nothing of Slurm is named" : "more than one thing of Slurm is named",
                          "write one of node_state, job_state and job_change");
  }
  if (source.node_state().empty() && spec.has_slurm() && spec.slurm().job().empty()) {
    complaints.Add(at, "the profile does not say which job is meant", "add spec.slurm.job");
  }
  CheckNarrow(source.node_state(), "node_state", "state", at, complaints);
  CheckNarrow(source.job_state(), "job_state", "state", at, complaints);
  const std::string& change = source.job_change();
  const Names words = {"requeued", "joined", "left"};
  if (!change.empty() &&
      std::none_of(words.begin(), words.end(), [&](const std::string& word) { return RE2::FullMatch(word, change); })) {
    complaints.Add(at + ".job_change", Cat("nothing that happens to a job is called `", change, "`"),
                   "match requeued, joined or left");
  }
  CheckLabelMeaning(signal, "answer of Slurm", path, complaints);
  CheckLabel(signal.of().node(), LabelsOf(source), path + ".of.node", complaints);
  CheckLabel(signal.of().local_rank(), LabelsOf(source), path + ".of.local_rank", complaints);
}

}  // namespace triodrill::load
