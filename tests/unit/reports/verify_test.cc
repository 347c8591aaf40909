#include "reports/evidence/verify.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "reports/evidence/timeline_reader.h"
#include "tests/unit/reports/signed_bundle.h"
#include "triodrill/signed/dsse.h"

namespace triodrill {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kVersionOfTests = "1.2.3";

Result<Verification> Look(const SignedBundle& bundle) {
  return VerifyBundle(bundle.directory(), bundle.key().public_key(), kVersionOfTests);
}

std::string TextOf(const Result<Verification>& verification) {
  return verification.ok() ? VerificationText(*verification) : std::string(verification.status().message());
}

bool Refuted(const Result<Verification>& found) { return found.ok() && found->proof == Proof::kRefuted; }

// The bundle, signed anew with the right key after `change`: only the facts speak against it.
template <typename Change>
std::string ForgedWith(Change change) {
  SignedBundle bundle;
  bundle.Write();
  change(bundle);
  bundle.SealAgain();
  const Result<Verification> found = Look(bundle);
  EXPECT_TRUE(Refuted(found)) << TextOf(found);
  return TextOf(found);
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    lines.push_back(text.substr(begin, text.find('\n', begin) + 1 - begin));
  }
  return lines;
}

std::string ForgedTimeline(const std::function<void(std::vector<std::string>&)>& change) {
  return ForgedWith([&](SignedBundle& bundle) {
    std::vector<std::string> lines = LinesOf(bundle.Read("timeline.jsonl"));
    change(lines);
    std::string text;
    for (const std::string& line : lines) text += line;
    bundle.Put("timeline.jsonl", text);
  });
}

TEST(Verify, ProvesAnUntouchedBundle) {
  SignedBundle bundle;
  bundle.WriteWhole();
  const Result<Verification> found = Look(bundle);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->proof, Proof::kProved) << TextOf(found);
  EXPECT_EQ(CodeOf(found->proof), ExitCode::kPassed);
  std::vector<std::string> names;
  for (const ProofStep& step : found->steps) names.push_back(step.name);
  EXPECT_THAT(names, ::testing::ElementsAre("signature", "files", "chain", "plan", "figures", "statement", "complete"));
  EXPECT_THAT(TextOf(found), HasSubstr("what no bundle can prove"));
  EXPECT_THAT(VerificationJson(*found, "b"), HasSubstr("\"proof\": \"proved\""));
}

// Each byte of each file, one bit of it.
TEST(Verify, FindsAChangedByteWhereverItIs) {
  SignedBundle bundle;
  bundle.WriteWhole();
  // Each byte takes a whole verification: a look at every sixteenth, unless all are asked for.
  const size_t stride = std::getenv("TRIODRILL_EVERY_BYTE") != nullptr ? 1 : 16;
  int flipped = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(bundle.directory())) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string();
    const std::string bytes = *ReadWholeFile(path);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    for (size_t i = 0; i < bytes.size(); i += stride) {
      const char changed = static_cast<char>(bytes[i] ^ (1 << (i / stride % 8)));
      ASSERT_EQ(::pwrite(fd, &changed, 1, static_cast<off_t>(i)), 1);
      const Result<Verification> found = Look(bundle);
      ASSERT_TRUE(!found.ok() || found->proof == Proof::kRefuted) << path << " byte " << i << "\n" << TextOf(found);
      ASSERT_EQ(::pwrite(fd, &bytes[i], 1, static_cast<off_t>(i)), 1);
      ++flipped;
    }
    ::close(fd);
  }
  EXPECT_GT(flipped, static_cast<int>(10'000 / stride));
  std::printf("%d of %d changed bytes found\n", flipped, flipped);
  EXPECT_EQ(Look(bundle)->proof, Proof::kProved) << "and the untouched one passes";
}

TEST(Verify, DoesNotTakeTheKeysWordAgainstTheFacts) {
  const auto edit = [](const std::string& file, const std::string& from, const std::string& to) {
    return [=](SignedBundle& bundle) {
      std::string text = bundle.Read(file);
      const size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      bundle.Put(file, text.replace(at, from.size(), to));
    };
  };
  EXPECT_THAT(ForgedWith(edit("trio.json", "\"censored\": false", "\"censored\": true")),
              HasSubstr("not what plan and timeline give: trio.json"));
  EXPECT_THAT(ForgedWith(edit("verdict.json", "PASS", "FAIL")), HasSubstr("verdict.json"));
  EXPECT_THAT(ForgedWith(edit("report.md", "PASS", "pass")), HasSubstr("report.md"));
  EXPECT_THAT(ForgedWith(edit("plan.json", "\"30s\"", "\"90s\"")), HasSubstr("plan.json is not the plan"));
  EXPECT_THAT(ForgedWith([](SignedBundle& bundle) { fs::remove(bundle.Path("trio.json")); }), HasSubstr("trio.json"));
}

TEST(Verify, ComparesTheStatementWithTheVerdict) {
  EXPECT_THAT(ForgedWith([](SignedBundle& bundle) { bundle.derived().verdict.answer = Answer::kFail; }),
              HasSubstr("the signed statement says otherwise"));
}

TEST(Verify, FindsLinesCutMovedDoubledOrTakenOut) {
  using Lines = std::vector<std::string>;
  EXPECT_THAT(ForgedTimeline([](Lines& lines) { lines.erase(lines.begin() + 3); }), HasSubstr("timeline line 4"));
  EXPECT_THAT(ForgedTimeline([](Lines& lines) { lines.insert(lines.begin() + 3, lines[3]); }),
              HasSubstr("timeline line 5"));
  EXPECT_THAT(ForgedTimeline([](Lines& lines) { std::swap(lines[3], lines[4]); }), HasSubstr("timeline line 4"));
  EXPECT_THAT(ForgedTimeline([](Lines& lines) { lines[2].pop_back(); }), HasSubstr("timeline line 3"));
  EXPECT_THAT(ForgedTimeline([](Lines& lines) { lines[5].insert(20, std::string(size_t{17} << 20, ' ')); }),
              HasSubstr("timeline line 6"));
  EXPECT_THAT(ForgedTimeline([](Lines& lines) { lines.pop_back(); }), HasSubstr("not what plan and timeline give"))
      << "the end cut off is a run that never ended";
}

TEST(Verify, RefusesAnotherKey) {
  SignedBundle bundle;
  bundle.WriteWhole();
  const SigningKey other = *SigningKey::Generate();
  const auto found = VerifyBundle(bundle.directory(), other.public_key(), kVersionOfTests);
  EXPECT_TRUE(Refuted(found));
  EXPECT_THAT(TextOf(found), HasSubstr(other.public_key().id()));
  EXPECT_THAT(TextOf(found), HasSubstr(bundle.key().public_key().id()));
  ASSERT_EQ(found->steps.size(), 1u) << "what nobody vouches for is not read";
}

TEST(Verify, FindsWhatWasAddedOrTaken) {
  SignedBundle bundle;
  bundle.WriteWhole();
  bundle.Put("raw/extra.log", "x");
  EXPECT_THAT(TextOf(Look(bundle)), HasSubstr("added: raw/extra.log"));
  fs::remove(bundle.Path("raw/extra.log"));
  EXPECT_EQ(Look(bundle)->proof, Proof::kProved);
  fs::remove(bundle.Path("raw/n2.log"));
  EXPECT_THAT(TextOf(Look(bundle)), HasSubstr("missing: raw/n2.log"));
  bundle.Put("raw/n2.log", "step 1\nstep 3\n");
  EXPECT_THAT(TextOf(Look(bundle)), HasSubstr("changed: raw/n2.log"));
  fs::remove(bundle.Path("manifest.json"));
  EXPECT_TRUE(Refuted(Look(bundle)));
}

TEST(Verify, ShowsHostileNamesAndRunsNone) {
  SignedBundle bundle;
  bundle.WriteWhole();
  bundle.Put("raw/\x1b[2Jx\n", "x");
  EXPECT_THAT(TextOf(Look(bundle)), HasSubstr("added: raw/\\x1b[2Jx\\n"));
}

TEST(Verify, OpensNothingButPlainFilesInTheBundle) {
  SignedBundle bundle;
  bundle.WriteWhole();
  const std::string odd = bundle.Path("raw/odd");
  const auto refused = [&](const char* what) {
    const auto found = Look(bundle);
    EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument) << what;
    EXPECT_THAT(TextOf(found), HasSubstr("raw/odd")) << what;
    fs::remove(odd);
  };
  ASSERT_EQ(::symlink("/etc/passwd", odd.c_str()), 0);
  refused("a link");
  ASSERT_EQ(::symlink("..", odd.c_str()), 0);
  refused("a circle");
  ASSERT_EQ(::mkfifo(odd.c_str(), 0600), 0);
  refused("a pipe, at which a reader would wait for ever");
  fs::rename(bundle.Path("timeline.jsonl"), bundle.Path("elsewhere"));
  ASSERT_EQ(::symlink("elsewhere", bundle.Path("timeline.jsonl").c_str()), 0);
  EXPECT_FALSE(Look(bundle).ok());
}

TEST(Verify, NeverFollowsAPathOfTheManifest) {
  for (const std::string path : {"../../etc/passwd", "/etc/passwd", "raw/../../x", "raw//x", "./x", ""}) {
    const std::string said = TextOf([&] {
      SignedBundle bundle;
      bundle.Write();
      bundle.SealAgain(false);
      std::vector<FileEntry> files = *ParseManifest(bundle.Read("manifest.json"));
      files.insert(files.begin(), {path, 1, std::string(64, '0')});
      bundle.Put("manifest.json", ManifestText(files));
      return Look(bundle);
    }());
    EXPECT_THAT(said, HasSubstr("does not stay in the bundle")) << path;
  }
}

TEST(Verify, RefusesASchemaThatItDoesNotKnow) {
  SignedBundle bundle;
  bundle.WriteWhole();
  std::string manifest = bundle.Read("manifest.json");
  manifest.replace(manifest.find("manifest/v1"), 11, "manifest/v9");
  fs::remove(bundle.Path("bundle.intoto.jsonl"));
  bundle.Put("manifest.json", manifest);
  EXPECT_EQ(Look(bundle).status().code(), absl::StatusCode::kUnimplemented);

  const std::string statement = R"({"_type": "https://in-toto.io/Statement/v9", "subject": []})";
  bundle.Put("bundle.intoto.jsonl", EnvelopeText({std::string(kInTotoType), statement, bundle.key().public_key().id(),
                                                  *bundle.key().Sign(Pae(kInTotoType, statement))}));
  EXPECT_EQ(Look(bundle).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(TextOf(Look(bundle)), HasSubstr("Statement/v9"));
}

TEST(Verify, SaysThatNobodyVouchesForAnUnsignedBundle) {
  SignedBundle bundle;
  bundle.Write();
  bundle.SealAgain(false);
  const Result<Verification> found = Look(bundle);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->proof, Proof::kOpen) << TextOf(found);
  EXPECT_EQ(CodeOf(found->proof), ExitCode::kInconclusive);
  EXPECT_THAT(TextOf(found), HasSubstr("nobody vouches"));
  bundle.Put("trio.json", "{}");
  EXPECT_TRUE(Refuted(Look(bundle))) << "changed all the same";
}

TEST(Verify, SaysThatACrashedRunIsIncomplete) {
  SignedBundle bundle;
  bundle.Write();
  const Result<Verification> found = Look(bundle);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->proof, Proof::kOpen) << TextOf(found);
  EXPECT_THAT(TextOf(found), HasSubstr("INCOMPLETE"));
}

TEST(Verify, IsNotAskedOfWhatIsNoBundle) {
  Scratch scratch;
  const SigningKey key = *SigningKey::Generate();
  EXPECT_THAT(TextOf(VerifyBundle(scratch.directory(), key.public_key(), "")), HasSubstr("not a bundle"));
  EXPECT_FALSE(VerifyBundle(scratch.Path("nowhere"), key.public_key(), "").ok());
}

TEST(TimelineReader, ReadsTheSameInPiecesOfAnySize) {
  SignedBundle bundle;
  bundle.Write();
  const std::string text = bundle.Read("timeline.jsonl");
  const Result<Timeline> whole = ParseTimeline(text);
  ASSERT_TRUE(whole.ok());
  for (const size_t size : {size_t{1}, size_t{7}, size_t{4096}}) {
    TimelineReader reader;
    for (size_t at = 0; at < text.size(); at += size) {
      ASSERT_TRUE(reader.Add(std::string_view(text).substr(at, size)).ok());
    }
    EXPECT_EQ(reader.head(), Sha256Hex(LinesOf(text).back().substr(0, LinesOf(text).back().size() - 1)));
    const Result<Timeline> pieces = reader.Finish();
    ASSERT_TRUE(pieces.ok());
    EXPECT_EQ(pieces->facts.size(), whole->facts.size());
    EXPECT_TRUE(pieces->complete);
  }
}

}  // namespace
}  // namespace triodrill
