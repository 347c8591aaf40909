// What is said of a whole bundle, and signed: manifest.json and the in-toto statement. Pure: values to bytes and back,
// each in one form only, so that a changed byte cannot hide in how a thing is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/evidence/derive.h"
#include "triodrill/status.h"

namespace triodrill {

inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kEnvelopeFile = "bundle.intoto.jsonl";  // one DSSE envelope, one line

struct FileEntry {
  std::string path;
  int64_t bytes = 0;
  std::string sha256;
  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

// Every file of the bundle but manifest.json and the envelope, by path.
std::string ManifestText(const std::vector<FileEntry>& files);
// Refuses what ManifestText would not have written, an unknown schema, and a path that leaves the bundle.
Result<std::vector<FileEntry>> ParseManifest(std::string_view text);

// in-toto Statement v1. Its subjects are the files of the manifest and the manifest itself; its predicate says what the
// run came to. `facts` and `head` are those of the timeline.
std::string StatementText(const std::vector<FileEntry>& files, const FileEntry& manifest, int64_t facts,
                          const std::string& head, const Derived& derived);
// The subjects of a statement; refuses an unknown type of statement or predicate.
struct Subject {
  std::string name;
  std::string sha256;
};
Result<std::vector<Subject>> SubjectsOf(std::string_view statement);

}  // namespace triodrill
