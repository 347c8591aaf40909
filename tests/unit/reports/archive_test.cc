// A bundle as one file: what goes in comes out, and an archive that somebody made to hurt is refused.
#include "reports/evidence/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "reports/evidence/verify.h"
#include "tests/unit/reports/signed_bundle.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;

// One entry of an archive as its maker wants it.
struct Member {
  std::string path;
  std::string bytes;
  mode_t type = AE_IFREG;
  std::string link = "";
};

std::string MakeArchive(const Scratch& scratch, const std::vector<Member>& members) {
  const std::string path = scratch.Path("made.tar.zst");
  archive* const out = archive_write_new();
  archive_write_add_filter_zstd(out);
  archive_write_set_format_pax_restricted(out);
  EXPECT_EQ(archive_write_open_filename(out, path.c_str()), ARCHIVE_OK);
  for (const Member& member : members) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.path.c_str());
    archive_entry_set_filetype(entry, member.type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, member.type == AE_IFREG ? static_cast<int64_t>(member.bytes.size()) : 0);
    if (member.type == AE_IFLNK) archive_entry_set_symlink(entry, member.link.c_str());
    if (member.type == AE_IFREG && !member.link.empty()) archive_entry_set_hardlink(entry, member.link.c_str());
    EXPECT_EQ(archive_write_header(out, entry), ARCHIVE_OK) << archive_error_string(out);
    if (member.type == AE_IFREG) archive_write_data(out, member.bytes.data(), member.bytes.size());
    archive_entry_free(entry);
  }
  EXPECT_EQ(archive_write_close(out), ARCHIVE_OK);
  archive_write_free(out);
  return path;
}

std::string Refusal(const Scratch& scratch, const std::vector<Member>& members) {
  const Result<BundleSource> source = BundleSource::Open(MakeArchive(scratch, members));
  EXPECT_FALSE(source.ok());
  return source.ok() ? "" : std::string(source.status().message());
}

// Directories that were made for archives and are still there.
size_t LeftBehind(const Scratch& scratch) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.directory())) {
    count += entry.is_directory() && entry.path().filename().string().starts_with("triodrill-bundle-") ? 1 : 0;
  }
  return count;
}

// Temporary files of this process lie in the scratch directory, so that what is left behind can be counted.
class Archive : public ::testing::Test {
 protected:
  Archive() { ::setenv("TMPDIR", scratch_.directory().c_str(), 1); }
  ~Archive() override {
    EXPECT_EQ(LeftBehind(scratch_), 0u);
    ::unsetenv("TMPDIR");
  }
  Scratch scratch_;
};

TEST_F(Archive, ABundleIsReadAndProvedFromItsArchive) {
  SignedBundle bundle;
  bundle.WriteWhole();
  const std::string packed = scratch_.Path("kill.tar.zst");
  ASSERT_TRUE(PackBundle(bundle.directory(), packed).ok());
  const Result<LoadedBundle> loaded = LoadBundle(packed);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->complete) << loaded->problem;
  EXPECT_EQ(loaded->directory, packed);
  EXPECT_EQ(Derive(*loaded).verdict_json, bundle.derived().verdict_json);
  const Result<Verification> proved = VerifyBundle(packed, bundle.key().public_key(), "");
  ASSERT_TRUE(proved.ok()) << proved.status();
  EXPECT_EQ(proved->proof, Proof::kProved) << VerificationText(*proved);
}

TEST_F(Archive, AChangeBeforeItWasPackedIsRefuted) {
  SignedBundle bundle;
  bundle.WriteWhole();
  bundle.Put("raw/n2.log", "step 1\nstep 3\n");
  const std::string packed = scratch_.Path("kill.tar.zst");
  ASSERT_TRUE(PackBundle(bundle.directory(), packed).ok());
  const Result<Verification> proved = VerifyBundle(packed, bundle.key().public_key(), "");
  ASSERT_TRUE(proved.ok()) << proved.status();
  EXPECT_EQ(proved->proof, Proof::kRefuted);
}

TEST_F(Archive, EqualBundlesMakeEqualArchives) {
  SignedBundle bundle;
  bundle.WriteWhole();
  std::filesystem::create_directory(scratch_.Path("a"));
  std::filesystem::create_directory(scratch_.Path("b"));
  ASSERT_TRUE(PackBundle(bundle.directory(), scratch_.Path("a/kill.tar.zst")).ok());
  std::filesystem::last_write_time(bundle.Path("plan.json"), std::filesystem::file_time_type{});
  ASSERT_TRUE(PackBundle(bundle.directory(), scratch_.Path("b/kill.tar.zst")).ok());
  EXPECT_EQ(*ReadWholeFile(scratch_.Path("a/kill.tar.zst")), *ReadWholeFile(scratch_.Path("b/kill.tar.zst")));
}

TEST_F(Archive, WhatIsNoBundleIsNotPackedAndLeavesNothing) {
  SignedBundle bundle;
  bundle.WriteWhole();
  std::filesystem::create_symlink("/etc/passwd", bundle.Path("raw/link"));
  EXPECT_FALSE(PackBundle(bundle.directory(), scratch_.Path("kill.tar.zst")).ok());
  EXPECT_FALSE(PackBundle(bundle.directory(), scratch_.Path("kill.tar")).ok());
  for (const auto& entry : std::filesystem::directory_iterator(scratch_.directory())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("kill")) << entry.path();
  }
}

TEST_F(Archive, NamesThatLeaveItAreRefused) {
  EXPECT_THAT(Refusal(scratch_, {{"b/../../evil", "x"}}), HasSubstr("a name leaves it"));
  EXPECT_THAT(Refusal(scratch_, {{"/tmp/evil", "x"}}), HasSubstr("a name leaves it"));
  EXPECT_THAT(Refusal(scratch_, {{"evil", "x"}}), HasSubstr("beside the bundle's folder"));
  EXPECT_THAT(Refusal(scratch_, {{"b/x", "x"}, {"c/x", "x"}}), HasSubstr("more than one folder"));
}

TEST_F(Archive, LinksDevicesAndTwinsAreRefused) {
  EXPECT_THAT(Refusal(scratch_, {{"b/link", "", AE_IFLNK, "/etc/passwd"}}), HasSubstr("not a plain file"));
  EXPECT_THAT(Refusal(scratch_, {{"b/x", "x"}, {"b/y", "", AE_IFREG, "b/x"}}), HasSubstr("not a plain file"));
  EXPECT_THAT(Refusal(scratch_, {{"b/pipe", "", AE_IFIFO}}), HasSubstr("not a plain file"));
  EXPECT_THAT(Refusal(scratch_, {{"b/x", "x"}, {"b/x", "y"}}), HasSubstr("twice"));
}

TEST_F(Archive, ABombIsRefusedBeforeItIsUnpacked) {
  std::vector<Member> members(160, {"", std::string(1 << 20, '\0')});
  for (size_t i = 0; i < members.size(); ++i) members[i].path = Cat("b/", i);
  EXPECT_THAT(Refusal(scratch_, members), HasSubstr("beyond all measure"));
}

TEST_F(Archive, TooManyFilesAreRefused) {
  std::vector<Member> members(kMostBundleFiles + 1);
  for (size_t i = 0; i < members.size(); ++i) members[i].path = Cat("b/", i);
  EXPECT_THAT(Refusal(scratch_, members), HasSubstr("too many files"));
}

TEST_F(Archive, HalfAnArchiveIsAnError) {
  SignedBundle bundle;
  bundle.WriteWhole();
  const std::string packed = scratch_.Path("kill.tar.zst");
  ASSERT_TRUE(PackBundle(bundle.directory(), packed).ok());
  const std::string bytes = *ReadWholeFile(packed);
  for (const size_t kept : {size_t{0}, size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
    std::ofstream(packed, std::ios::trunc) << bytes.substr(0, kept);
    EXPECT_FALSE(BundleSource::Open(packed).ok()) << kept;
  }
  std::ofstream(packed, std::ios::trunc) << "PK\x03\x04 of another kind";
  EXPECT_FALSE(BundleSource::Open(packed).ok());
}

}  // namespace
}  // namespace triodrill
