#include "reports/evidence/verify.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_join.h"
#include "reports/evidence/archive.h"
#include "reports/evidence/files.h"
#include "reports/evidence/seal.h"
#include "reports/evidence/sha256.h"
#include "reports/evidence/timeline_reader.h"
#include "reports/evidence/verify_approvals.h"
#include "reports/render/escape.h"
#include "reports/render/number.h"
#include "triodrill/schema/json.h"
#include "triodrill/signed/dsse.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr size_t kMostSmallFile = size_t{64} << 20;  // of what is held whole: the plan, the manifest, the derived files
constexpr size_t kMostNamed = 5;

std::string Listed(std::vector<std::string> names) {
  const size_t all = names.size();
  names.resize(std::min(all, kMostNamed));
  for (std::string& name : names) name = PlainText(name);
  std::string text = absl::StrJoin(names, ", ");
  if (all > kMostNamed) Append(text, " and ", all - kMostNamed, " more");
  return text;
}

// One look at one bundle. Each step adds what it found; false ends the look.
class Look {
 public:
  Look(const BundleTree& tree, const PublicKey& key, std::string_view tool_version)
      : tree_(tree), key_(key), tool_version_(tool_version) {}

  Result<Verification> Run() {
    TRIODRILL_ASSIGN_OR_RETURN(paths_, tree_.Files());
    for (const std::string_view needed : {kPlanFile, kTimelineFile}) {
      if (!There(needed)) return absl::NotFoundError(Cat("no ", needed, " in it: not a bundle"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(bool going, Signature());
    if (going) {
      TRIODRILL_ASSIGN_OR_RETURN(going, Manifest());
    }
    if (going) going = Files() && Chain() && Plan() && Approvals() && Again() && Statement();
    Complete(going);
    Conclude();
    return std::move(found_);
  }

 private:
  bool There(std::string_view path) const { return std::binary_search(paths_.begin(), paths_.end(), path); }

  bool Add(std::string name, Proof proof, std::string text) {
    found_.steps.push_back({std::move(name), proof, std::move(text)});
    return proof != Proof::kRefuted;
  }
  bool Refuted(std::string name, const Status& status) {
    return Add(std::move(name), Proof::kRefuted, std::string(status.message()));
  }

  Result<bool> Signature() {
    if (!There(kEnvelopeFile)) {
      return Add("signature", Proof::kOpen, "the bundle is not signed: nobody vouches for it (`run --sign KEY` signs)");
    }
    TRIODRILL_ASSIGN_OR_RETURN(const std::string text, tree_.ReadAll(std::string(kEnvelopeFile), kMostSmallFile));
    const Result<Envelope> envelope = ParseEnvelope(text);
    if (!envelope.ok()) return Refuted("signature", envelope.status());
    if (envelope->payload_type != kInTotoType) {
      return Add("signature", Proof::kRefuted,
                 Cat("the envelope holds ", PlainText(envelope->payload_type), " and not an in-toto statement"));
    }
    if (!key_.Verifies(Pae(envelope->payload_type, envelope->payload), envelope->signature)) {
      const bool other = envelope->key_id != key_.id();
      return Add("signature", Proof::kRefuted,
                 Cat("not made with this key (", key_.id(), "), or the statement was changed",
                     other ? Cat("; it says that it was made with ", PlainText(envelope->key_id)) : std::string()));
    }
    if (envelope->key_id != key_.id()) {
      return Add("signature", Proof::kRefuted, "the envelope names another key than the one that signed it");
    }
    statement_ = envelope->payload;
    // Now it is the signer's word: a kind of statement that is not known is no forgery, but cannot be read.
    TRIODRILL_ASSIGN_OR_RETURN(subjects_, SubjectsOf(statement_));
    return Add("signature", Proof::kProved, Cat("Ed25519, by key ", key_.id()));
  }

  Result<bool> Manifest() {
    if (!There(kManifestFile)) {
      Add("manifest", statement_.empty() ? Proof::kOpen : Proof::kRefuted, "there is no manifest.json");
      return false;
    }
    TRIODRILL_ASSIGN_OR_RETURN(manifest_, tree_.ReadAll(std::string(kManifestFile), kMostSmallFile));
    if (!statement_.empty()) {
      const auto subject = std::find_if(subjects_.begin(), subjects_.end(),
                                        [](const Subject& one) { return one.name == kManifestFile; });
      if (subject == subjects_.end() || subject->sha256 != Sha256Hex(manifest_)) {
        return Add("manifest", Proof::kRefuted, "manifest.json is not the one that was signed");
      }
    }
    Result<std::vector<FileEntry>> listed = ParseManifest(manifest_);
    if (absl::IsUnimplemented(listed.status())) return listed.status();
    if (!listed.ok()) return Refuted("manifest", listed.status());
    listed_ = *std::move(listed);
    return true;
  }

  // Nothing missing, nothing added, nothing changed. What was digested here is looked at again below by its digest.
  bool Files() {
    const Result<std::vector<FileEntry>> there = Digests(tree_);
    if (!there.ok()) return Refuted("files", there.status());
    std::map<std::string, const FileEntry*> expected;
    for (const FileEntry& entry : listed_) expected[entry.path] = &entry;
    std::vector<std::string> changed;
    std::vector<std::string> added;
    int64_t bytes = 0;
    for (const FileEntry& entry : *there) {
      bytes += entry.bytes;
      const auto found = expected.find(entry.path);
      if (found == expected.end()) {
        added.push_back(entry.path);
      } else {
        if (*found->second != entry) changed.push_back(entry.path);
        expected.erase(found);
      }
    }
    std::vector<std::string> missing;
    for (const auto& [path, entry] : expected) missing.push_back(path);
    std::string wrong;
    if (!changed.empty()) Append(wrong, "changed: ", Listed(changed));
    if (!added.empty()) Append(wrong, wrong.empty() ? "" : "; ", "added: ", Listed(added));
    if (!missing.empty()) Append(wrong, wrong.empty() ? "" : "; ", "missing: ", Listed(missing));
    if (!wrong.empty()) return Add("files", Proof::kRefuted, std::move(wrong));
    return Add("files", Proof::kProved,
               Cat(CountText(static_cast<int64_t>(there->size()), "file", "files"), ", ", bytes,
                   " bytes: none changed, added or missing"));
  }

  const std::string& DigestOf(std::string_view path) const {
    static const std::string kNone;
    const auto found =
        std::find_if(listed_.begin(), listed_.end(), [&](const FileEntry& one) { return one.path == path; });
    return found == listed_.end() ? kNone : found->sha256;
  }

  // The bytes that were digested, and no others that came since.
  Result<std::string> Same(std::string_view path) {
    if (DigestOf(path).empty()) return absl::NotFoundError(Cat(path, " is not in the bundle"));
    TRIODRILL_ASSIGN_OR_RETURN(std::string bytes, tree_.ReadAll(std::string(path), kMostSmallFile));
    if (Sha256Hex(bytes) != DigestOf(path)) return absl::DataLossError(Cat(path, " changed while it was looked at"));
    return bytes;
  }

  int64_t Facts() const { return static_cast<int64_t>(timeline_.size()); }

  bool Chain() {
    TimelineReader reader;
    Sha256 digest;
    const Status read = tree_.Read(std::string(kTimelineFile), [&](std::string_view piece) {
      digest.Add(piece);
      return reader.Add(piece);
    });
    if (!read.ok()) return Refuted("chain", read);
    if (digest.Hex() != DigestOf(kTimelineFile)) {
      return Add("chain", Proof::kRefuted, "timeline.jsonl changed while it was looked at");
    }
    head_ = reader.head();
    Result<Timeline> timeline = reader.Finish();
    if (!timeline.ok()) return Refuted("chain", timeline.status());
    timeline_ = *std::move(timeline);
    return Add("chain", Proof::kProved,
               Cat(CountText(Facts(), "fact", "facts"), ", each bound to the one before; the last has ", head_));
  }

  bool Plan() {
    const Result<std::string> bytes = Same(kPlanFile);
    if (!bytes.ok()) return Refuted("plan", bytes.status());
    for (const v1::Fact& fact : timeline_.facts) {
      if (!fact.has_run_started()) continue;
      if (fact.run_started().plan_digest() != Sha256Hex(*bytes)) {
        return Add("plan", Proof::kRefuted, "plan.json is not the plan under which the timeline was written");
      }
      if (const Status read = FromJson(*bytes, plan_); !read.ok()) return Refuted("plan", read);
      return Add("plan", Proof::kProved,
                 Cat("the run's first fact names this plan: ", fact.run_started().plan_digest()));
    }
    return Add("plan", Proof::kRefuted, "the timeline does not say under which plan it was written");
  }

  bool Approvals() {
    std::optional<ProofStep> step = ApprovalStep(plan_, timeline_);
    return !step || Add(step->name, step->proof, step->text);
  }

  bool Again() {
    derived_ = Derive(plan_, timeline_);
    found_.verdict_headline = derived_.verdict.headline;
    std::vector<std::string> different;
    const std::pair<std::string_view, const std::string*> files[] = {
        {kTrioFile, &derived_.trio_json}, {kVerdictFile, &derived_.verdict_json}, {kReportFile, &derived_.report_md}};
    for (const auto& [path, bytes] : files) {
      const Result<std::string> kept = Same(path);
      if (!kept.ok() || *kept != *bytes) different.emplace_back(path);
    }
    if (different.empty()) {
      return Add("figures", Proof::kProved,
                 "trio.json, verdict.json and report.md follow from plan and timeline, to the byte");
    }
    std::string text = Cat("not what plan and timeline give: ", Listed(different));
    const std::string& version = derived_.trio.run.tool_version;
    if (version != tool_version_) {
      Append(text, "; written by version ", PlainText(version), ", looked at with ", tool_version_,
             ": verify with the version that wrote it before you believe that it was changed");
    }
    return Add("figures", Proof::kRefuted, std::move(text));
  }

  bool Statement() {
    if (statement_.empty()) return true;
    const FileEntry manifest{std::string(kManifestFile), static_cast<int64_t>(manifest_.size()), Sha256Hex(manifest_)};
    if (StatementText(listed_, manifest, Facts(), head_, derived_) != statement_) {
      return Add("statement", Proof::kRefuted, "the signed statement says otherwise than files, timeline and verdict");
    }
    return Add("statement", Proof::kProved, "the signed statement names these files and this verdict");
  }

  void Complete(bool looked) {
    if (There(kIncompleteFile)) {
      Add("complete", Proof::kOpen, "the file INCOMPLETE is there: the bundle's writer died, or is still at it");
    } else if (looked && !timeline_.complete) {
      Add("complete", Proof::kOpen, Cat("the timeline stops early: ", timeline_.problem));
    } else if (looked) {
      Add("complete", Proof::kProved, "the run was written down to its end");
    }
  }

  void Conclude() {
    found_.proof = Proof::kProved;
    const auto any = [&](Proof proof) {
      return std::any_of(found_.steps.begin(), found_.steps.end(),
                         [&](const ProofStep& step) { return step.proof == proof; });
    };
    if (any(Proof::kOpen)) found_.proof = Proof::kOpen;
    if (any(Proof::kRefuted)) found_.proof = Proof::kRefuted;
    switch (found_.proof) {
      case Proof::kProved:
        found_.headline = "VERIFIED: the bundle is what was signed, and its verdict follows from its facts";
        break;
      case Proof::kOpen:
        found_.headline = "NOT PROVED: nothing speaks against the bundle, but not all of it could be proved";
        break;
      case Proof::kRefuted:
        found_.headline = "REFUTED: the bundle is not what it says; nothing after the refuted step was looked at";
        break;
    }
    found_.beyond = {
        "that the run happened: the signature says who vouches for it, and whoever holds the key can vouch for "
        "anything",
        "when it happened: all times are of the coordinator's own clock; no outside party stamped them",
        "that raw/ holds all that was said: it holds what was copied at the end of the run",
        "that plan.json is what inputs/ ask for: `triodrill plan` on the inputs shows it",
        Cat("that the measuring is right: it was repeated by the same rules (version ", tool_version_, ")"),
    };
  }

  const BundleTree& tree_;
  const PublicKey& key_;
  const std::string tool_version_;
  std::vector<std::string> paths_;
  std::string statement_;
  std::string manifest_;
  std::vector<Subject> subjects_;
  std::vector<FileEntry> listed_;
  Timeline timeline_;
  std::string head_;
  v1::Plan plan_;
  Derived derived_;
  Verification found_;
};

}  // namespace

Result<Verification> VerifyBundle(const std::string& named, const PublicKey& key, std::string_view tool_version) {
  TRIODRILL_ASSIGN_OR_RETURN(const BundleSource source, BundleSource::Open(named));
  TRIODRILL_ASSIGN_OR_RETURN(const BundleTree tree, BundleTree::Open(source.directory()));
  return Look(tree, key, tool_version).Run();
}

}  // namespace triodrill
