#include "reports/evidence/statement.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/evidence/tree.h"
#include "reports/render/escape.h"
#include "reports/render/json_text.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kManifestSchema = "triodrill/manifest/v1";
constexpr std::string_view kStatementType = "https://in-toto.io/Statement/v1";
constexpr std::string_view kPredicateType = "urn:triodrill:run:v1";

Status Unreadable(std::string_view file, std::string_view what) {
  return absl::DataLossError(Cat(file, ": ", what, "; it was changed after it was written"));
}

// The text of a member; "" if it is not there or no text.
std::string TextOf(const Json& tree, std::string_view name) {
  const auto found = tree.find(std::string(name));
  return found != tree.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Status CheckType(std::string_view file, std::string_view known, const std::string& said) {
  if (said == known) return Ok();
  return absl::UnimplementedError(Cat(file, ": this version knows ", known, ", and not \"", PlainText(said),
                                      "\"; use the version of triodrill that wrote the bundle, or a newer one"));
}

Json SubjectTree(std::string_view name, std::string_view sha256) {
  return {{"name", name}, {"digest", {{"sha256", sha256}}}};
}

}  // namespace

std::string ManifestText(const std::vector<FileEntry>& files) {
  Json list = Json::array();
  for (const FileEntry& file : files) {
    list.push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  return JsonText({{"schema", kManifestSchema}, {"files", list}});
}

Result<std::vector<FileEntry>> ParseManifest(std::string_view text) {
  const Json tree = Json::parse(text, nullptr, false);
  if (!tree.is_object()) return Unreadable(kManifestFile, "not a JSON object");
  TRIODRILL_RETURN_IF_ERROR(CheckType(kManifestFile, kManifestSchema, TextOf(tree, "schema")));
  const auto list = tree.find("files");
  if (list == tree.end() || !list->is_array()) return Unreadable(kManifestFile, "no list of files");
  std::vector<FileEntry> files;
  for (const Json& entry : *list) {
    const auto bytes = entry.is_object() ? entry.find("bytes") : entry.end();
    if (!entry.is_object() || bytes == entry.end() || !bytes->is_number_integer()) {
      return Unreadable(kManifestFile, "a file without path, bytes and sha256");
    }
    FileEntry& file = files.emplace_back();
    file = {TextOf(entry, "path"), bytes->get<int64_t>(), TextOf(entry, "sha256")};
    if (!IsBundlePath(file.path)) {
      return Unreadable(kManifestFile, Cat("the path \"", PlainText(file.path), "\" does not stay in the bundle"));
    }
  }
  const auto unordered = [](const FileEntry& a, const FileEntry& b) { return a.path >= b.path; };
  if (std::adjacent_find(files.begin(), files.end(), unordered) != files.end()) {
    return Unreadable(kManifestFile, "files out of order, or one named twice");
  }
  if (ManifestText(files) != text) return Unreadable(kManifestFile, "its bytes are not those of its one form");
  return files;
}

std::string StatementText(const std::vector<FileEntry>& files, const FileEntry& manifest, int64_t facts,
                          const std::string& head, const Derived& derived) {
  Json subjects = Json::array();
  for (const FileEntry& file : files) subjects.push_back(SubjectTree(file.path, file.sha256));
  subjects.push_back(SubjectTree(manifest.path, manifest.sha256));
  const RunFacts& run = derived.trio.run;
  const Verdict& verdict = derived.verdict;
  return JsonText({{"_type", kStatementType},
                   {"subject", subjects},
                   {"predicateType", kPredicateType},
                   {"predicate",
                    {{"drill", verdict.drill},
                     {"run_id", run.run_id},
                     {"started", run.wall_text},
                     {"operator", run.operator_name},
                     {"tool_version", run.tool_version},
                     {"plan_digest", run.plan_digest},
                     {"timeline", {{"facts", facts}, {"head", head}}},
                     {"verdict", Name(verdict.answer)},
                     {"outcome", Name(verdict.outcome)},
                     {"undo_confirmed", verdict.undo_confirmed},
                     {"exit_code", static_cast<int>(verdict.exit_code)}}}});
}

Result<std::vector<Subject>> SubjectsOf(std::string_view statement) {
  constexpr std::string_view kWhere = "the signed statement";
  const Json tree = Json::parse(statement, nullptr, false);
  if (!tree.is_object()) return Unreadable(kWhere, "not a JSON object");
  TRIODRILL_RETURN_IF_ERROR(CheckType(kWhere, kStatementType, TextOf(tree, "_type")));
  TRIODRILL_RETURN_IF_ERROR(CheckType(kWhere, kPredicateType, TextOf(tree, "predicateType")));
  const auto list = tree.find("subject");
  if (list == tree.end() || !list->is_array()) return Unreadable(kWhere, "no subjects");
  std::vector<Subject> subjects;
  for (const Json& entry : *list) {
    const auto digest = entry.is_object() ? entry.find("digest") : entry.end();
    if (!entry.is_object() || digest == entry.end() || !digest->is_object()) {
      return Unreadable(kWhere, "a subject without name and digest");
    }
    subjects.push_back({TextOf(entry, "name"), TextOf(*digest, "sha256")});
  }
  return subjects;
}

}  // namespace triodrill
