// A job's checkpoint directory with a few files in it, to be covered by storage.full or storage.slow.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "injectors/storage/overlay.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/training.h"
#include "triodrill/time.h"

namespace triodrill::testing {

// What came of writing: how many bytes, and errno of the call that ended it, 0 if none did.
struct Written {
  size_t bytes = 0;
  int error = 0;
};
Written WriteTo(int fd, size_t bytes, size_t block = 4096);
Written WriteFile(const std::string& path, size_t bytes, int flags);

// Skips where FUSE cannot be used, with the reason. Whatever a test leaves covered is uncovered at its end.
class Covered : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::string In(const std::string& name) const { return root_.path() + "/checkpoint/" + name; }
  v1::AimedFault Full(int64_t after_bytes = 0, bool quota = false) const;
  v1::AimedFault Slow(Nanos delay, int64_t bytes_per_second = 0) const;
  Injector& For(const v1::UndoRecord& record) const {
    return record.fault().kind() == "storage.full" ? *full_ : *slow_;
  }
  v1::UndoRecord Prepared(const v1::AimedFault& fault);
  v1::UndoRecord Applied(const v1::AimedFault& fault);
  Effect Look(const v1::UndoRecord& record) const;
  // Reverts, twice, and looks.
  void ExpectUncovered(const v1::UndoRecord& record);
  // The lines of mountinfo with its token.
  static size_t Mounts(const v1::UndoRecord& record);
  // Its processes: the keeper, and the server, which counts in its name.
  static std::vector<pid_t> Programs(const v1::UndoRecord& record);
  static bool IsServer(pid_t pid);

  const TemporaryDirectory root_;
  const Child child_ = Training(false, root_.path());
  const std::unique_ptr<Injector> full_ = MakeStorageFull(TRIODRILL_BIN_DIR "/triodrill-overlay");
  const std::unique_ptr<Injector> slow_ = MakeStorageSlow(TRIODRILL_BIN_DIR "/triodrill-overlay");

 private:
  std::vector<v1::UndoRecord> applied_;
};

}  // namespace triodrill::testing
