#include "triodrill/schema/yaml.h"

#include <algorithm>

#include "google/protobuf/message.h"
#include "triodrill/schema/documents.h"
#include "triodrill/schema/nearest.h"
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
  SortByPlace(problems, before);
  return problems.size() == before;
}

std::optional<std::string> PeekKind(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems) {
  YamlNode root;
  if (!ParseTree(text, file, root, problems)) return std::nullopt;
  std::vector<std::string> known;
  for (const auto* type : DocumentTypes()) known.push_back(type->name());
  const auto refuse = [&](Place place, std::string what, std::string hint) {
    problems.push_back({std::string(file), place.line, place.column, std::move(what), std::move(hint)});
    return std::nullopt;
  };
  if (root.kind != YamlNode::Kind::kMapping) {
    return refuse(root.place, "not a mapping", Cat("begin with `apiVersion: ", kApiVersion, "` and `kind: Drill`"));
  }
  const YamlNode* kind = root.Find("kind");
  if (kind == nullptr)
    return refuse(root.place, "`kind` is missing", Cat("add `kind: Drill`; ", SuggestFrom("", known)));
  if (kind->kind != YamlNode::Kind::kScalar) return refuse(kind->place, "`kind` is no text", SuggestFrom("", known));
  if (std::find(known.begin(), known.end(), kind->scalar) == known.end()) {
    return refuse(kind->place, Cat("unknown kind ", Quoted(kind->scalar)), SuggestFrom(kind->scalar, known));
  }
  return kind->scalar;
}

Result<std::string> PeekKind(std::string_view text, std::string_view file) {
  std::vector<Diagnostic> problems;
  const auto kind = PeekKind(text, file, problems);
  if (!kind) return absl::InvalidArgumentError(problems.front().Text());
  return *kind;
}

}  // namespace triodrill
