#include "triodrill/schema/yaml.h"

#include <algorithm>

#include "google/protobuf/message.h"
#include "triodrill/schema/tree.h"
#include "triodrill/schema/walk.h"
#include "triodrill/text.h"

namespace triodrill {

Place Places::Find(std::string_view path) const {
  while (true) {
    if (const auto found = places_.find(path); found != places_.end()) return found->second;
    const size_t cut = path.find_last_of(".[");
    if (cut == std::string_view::npos) return {1, 1};
    path = path.substr(0, cut);
  }
}

Diagnostic Places::At(std::string_view path, std::string_view file, std::string what, std::string hint) const {
  const Place place = Find(path);
  return {std::string(file), place.line, place.column, std::move(what), std::move(hint)};
}

bool ParseYaml(std::string_view text, std::string_view file, google::protobuf::Message& out, Places& places,
               std::vector<Diagnostic>& problems) {
  const size_t before = problems.size();
  YamlNode root;
  if (!ParseTree(text, file, root, problems)) return false;
  Walker(file, places, problems).Document(root, out);
  std::stable_sort(problems.begin() + static_cast<std::ptrdiff_t>(before), problems.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return std::pair(a.line, a.column) < std::pair(b.line, b.column);
                   });
  return problems.size() == before;
}

Result<std::string> PeekKind(std::string_view text, std::string_view file) {
  std::vector<Diagnostic> problems;
  YamlNode root;
  if (!ParseTree(text, file, root, problems)) return absl::InvalidArgumentError(problems.front().Text());
  const YamlNode* kind = root.Find("kind");
  if (kind == nullptr || kind->kind != YamlNode::Kind::kScalar) {
    const Place place = kind == nullptr ? root.place : kind->place;
    return absl::InvalidArgumentError(Diagnostic{std::string(file), place.line, place.column, "`kind` is missing",
                                                 "add `kind: Drill`, `Partition`, `Pipeline` or `AgentPolicy`"}
                                          .Text());
  }
  return kind->scalar;
}

}  // namespace triodrill
