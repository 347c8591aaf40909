#include "coordinator/load/load.h"

#include <algorithm>
#include <set>

#include "coordinator/load/rules.h"
#include "triodrill/schema/defaults.h"
#include "triodrill/schema/documents.h"
#include "triodrill/schema/nearest.h"
#include "triodrill/schema/policy.h"
#include "triodrill/text.h"
#include "triodrill/v1/shadow_policy.pb.h"

namespace triodrill {
namespace load {

void CheckStepNames(const Texts& words, const std::string& path, const Complaints& complaints) {
  static const auto* const known =
      new std::vector<std::string>{"detect", "self_check", "isolate", "replace", "recover"};
  for (int i = 0; i < words.size(); ++i) {
    if (std::find(known->begin(), known->end(), words[i]) != known->end()) continue;
    complaints.Add(Cat(path, "[", i, "]"), Cat("no step of a pipeline is called `", words[i], "`"),
                   SuggestFrom(words[i], *known));
  }
  CheckUnique(words, path, "the step", complaints);
}

void CheckUnique(const Texts& texts, const std::string& path, std::string_view noun, const Complaints& complaints) {
  std::set<std::string> seen;
  for (int i = 0; i < texts.size(); ++i) {
    if (seen.insert(texts[i]).second) continue;
    complaints.Add(Cat(path, "[", i, "]"), Cat(noun, " `", texts[i], "` is named twice"), "name it once");
  }
}

void CheckPlainMetadata(const Complaints& complaints) {
  for (const char* path : {"metadata.category", "metadata.severity", "metadata.question"}) {
    if (complaints.places.Written(path)) complaints.Add(path, "only a drill has this", "leave it out");
  }
}

}  // namespace load

namespace {

// The schema first; the rules between fields only on what the schema has accepted, so that one slip is told once.
template <typename T>
Loaded<T> Load(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems,
               void (*check)(const T&, const load::Complaints&)) {
  Loaded<T> loaded{{}, {}, std::string(file), std::string(text)};
  const size_t before = problems.size();
  if (!ParseYaml(text, file, loaded.message, loaded.places, problems)) return loaded;
  FillDefaults(loaded.message, loaded.places);
  check(loaded.message, load::Complaints{loaded.places, file, problems});
  SortByPlace(problems, before);
  return loaded;
}

}  // namespace

Loaded<v1::Drill> LoadDrill(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems) {
  return Load<v1::Drill>(text, file, problems, &load::CheckDrill);
}

Loaded<v1::Partition> LoadPartition(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems) {
  return Load<v1::Partition>(text, file, problems, &load::CheckPartition);
}

Loaded<v1::Pipeline> LoadPipeline(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems) {
  return Load<v1::Pipeline>(text, file, problems, &load::CheckPipeline);
}

std::string Validate(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems) {
  const auto kind = PeekKind(text, file, problems);
  if (!kind) return "";
  if (*kind == "Drill") {
    LoadDrill(text, file, problems);
  } else if (*kind == "Partition") {
    LoadPartition(text, file, problems);
  } else if (*kind == "Pipeline") {
    LoadPipeline(text, file, problems);
  } else if (*kind == "ShadowPolicy") {
    v1::ShadowPolicy policy;
    ParseShadowPolicy(text, file, policy, problems);
  } else {
    v1::AgentPolicy policy;
    ParseAgentPolicy(text, file, policy, problems);
  }
  return *kind;
}

}  // namespace triodrill
