#include "reports/evidence/seal.h"

#include "reports/evidence/files.h"
#include "triodrill/signed/dsse.h"

namespace triodrill {
namespace {

struct Lines {
  int64_t count = 0;
  std::string head;  // digest of the last
};

// Of the timeline, whole ones only.
Result<Lines> LinesOf(const BundleTree& tree) {
  Lines lines;
  std::string last;
  std::string cut;
  TRIODRILL_RETURN_IF_ERROR(tree.Read(std::string(kTimelineFile), [&](std::string_view piece) {
    for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      cut += piece.substr(0, end);
      last.swap(cut);
      cut.clear();
      ++lines.count;
      piece.remove_prefix(end + 1);
    }
    cut += piece;
    return Ok();
  }));
  if (lines.count > 0) lines.head = Sha256Hex(last);
  return lines;
}

}  // namespace

Result<std::vector<FileEntry>> Digests(const BundleTree& tree) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> paths, tree.Files());
  std::vector<FileEntry> files;
  for (const std::string& path : paths) {
    if (path == kManifestFile || path == kEnvelopeFile || path == kIncompleteFile) continue;
    TRIODRILL_ASSIGN_OR_RETURN(BundleTree::Digest digest, tree.DigestOf(path));
    files.push_back({path, digest.bytes, std::move(digest.sha256)});
  }
  return files;
}

Status Seal(const Bundle& bundle, const Derived& derived, const SigningKey* key) {
  TRIODRILL_ASSIGN_OR_RETURN(const BundleTree tree, BundleTree::Open(bundle.directory()));
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<FileEntry> files, Digests(tree));
  const std::string manifest = ManifestText(files);
  TRIODRILL_RETURN_IF_ERROR(bundle.WriteFile(kManifestFile, manifest));
  if (key == nullptr) return Ok();
  const FileEntry entry{std::string(kManifestFile), static_cast<int64_t>(manifest.size()), Sha256Hex(manifest)};
  TRIODRILL_ASSIGN_OR_RETURN(const Lines lines, LinesOf(tree));
  const std::string statement = StatementText(files, entry, lines.count, lines.head, derived);
  TRIODRILL_ASSIGN_OR_RETURN(std::string signature, key->Sign(Pae(kInTotoType, statement)));
  return bundle.WriteFile(kEnvelopeFile, EnvelopeText({.payload_type = std::string(kInTotoType),
                                                       .payload = statement,
                                                       .key_id = key->public_key().id(),
                                                       .signature = std::move(signature)}));
}

}  // namespace triodrill
