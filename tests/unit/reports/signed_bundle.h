// A whole bundle on the disk, sealed as a run seals it: the story of two killed ranks, with a log, signed or not.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "reports/evidence/files.h"
#include "reports/evidence/seal.h"
#include "tests/unit/reports/scratch.h"
#include "tests/unit/reports/story.h"

namespace triodrill {

inline void TellKill(Story& story) {
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(30);
  story.Trial().Kill("n2/0").Signal(2, v1::DETECTED, "n2/0").Restart(2.1).Restored(5, 990).Run(5.5, 18, 991).End(19);
}

class SignedBundle {
 public:
  SignedBundle() : story_(2), key_(*SigningKey::Generate()) { TellKill(story_); }

  Story& story() { return story_; }
  const SigningKey& key() const { return key_; }
  std::string directory() const { return scratch_.Path("bundle"); }
  std::string Path(const std::string& file) const { return directory() + "/" + file; }

  // Writes everything up to the seal.
  void Write() {
    bundle_ = *Bundle::Create(directory());
    ASSERT_TRUE(bundle_->WriteFile("inputs/drill.yaml", "kind: Drill\n").ok());
    ASSERT_TRUE(bundle_->WriteFile("raw/n2.log", "step 1\nstep 2\n").ok());
    const Result<std::string> digest = bundle_->WritePlan(story_.plan);
    ASSERT_TRUE(digest.ok());
    auto writer = TimelineWriter::Create(bundle_->timeline_path());
    ASSERT_TRUE(writer.ok());
    for (v1::Fact& fact : AllFacts(story_.Told())) {
      if (fact.has_run_started()) fact.mutable_run_started()->set_plan_digest(*digest);
      ASSERT_TRUE((*writer)->Append(std::move(fact)).ok());
    }
    ASSERT_TRUE((*writer)->Sync().ok());
    writer->reset();
    const Result<LoadedBundle> loaded = LoadBundle(directory());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    derived_ = Derive(*loaded);
    ASSERT_TRUE(WriteDerived(*bundle_, derived_).ok());
  }
  // Signs what lies there now, whatever it is: a forger who has the key.
  void SealAgain(bool sign = true) {
    ASSERT_TRUE(Seal(*bundle_, derived_, sign ? &key_ : nullptr).ok());
    std::filesystem::remove(Path(std::string(kIncompleteFile)));
  }
  void WriteWhole() {
    Write();
    SealAgain();
  }
  void Put(const std::string& file, const std::string& bytes) const {
    ASSERT_TRUE(bundle_->WriteFile(file, bytes).ok());
  }
  std::string Read(const std::string& file) const { return *ReadWholeFile(Path(file)); }
  Derived& derived() { return derived_; }

 private:
  Scratch scratch_;
  Story story_;
  SigningKey key_;
  std::optional<Bundle> bundle_;
  Derived derived_;
};

}  // namespace triodrill
