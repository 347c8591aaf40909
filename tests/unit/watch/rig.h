// A directory of logs, a clock that moves only when told, and the follower without its thread.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/watch/log_tail.h"
#include "coordinator/watch/unique_fd.h"

namespace triodrill::watch {

class HandClock final : public Clock {
 public:
  TimePoint Now() override { return now_; }
  void Set(int64_t ms) { now_ = FromNanos(ms * 1'000'000); }

 private:
  TimePoint now_ = FromNanos(1'000'000);
};

inline Instant Ms(int64_t from, int64_t to) { return {FromNanos(from * 1'000'000), FromNanos(to * 1'000'000)}; }

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "triodrill-watch-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// A writer that keeps its file open, as a training job does.
class Writer {
 public:
  explicit Writer(const std::string& path, int flags = O_APPEND)
      : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600)) {
    EXPECT_TRUE(fd_.valid()) << path;
  }
  void Write(std::string_view text) {
    EXPECT_EQ(write(fd_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

inline void Append(const std::string& path, std::string_view text) { Writer(path).Write(text); }

inline std::vector<std::string> Texts(const std::vector<Line>& lines) {
  std::vector<std::string> texts;
  for (const Line& line : lines) texts.push_back(line.text);
  return texts;
}

class TailRig : public testing::Test {
 protected:
  void Follow(std::vector<std::string> paths, TailOptions options = {}) {
    auto tail = LogTail::Open(std::move(paths), options, clock_);
    ASSERT_TRUE(tail.ok()) << tail.status();
    tail_ = *std::move(tail);
  }
  std::vector<Line> LookAt(int64_t ms) {
    clock_.Set(ms);
    return tail_->Tick();
  }

  TemporaryDirectory directory_;
  const std::string log_ = directory_ / "n0.err";
  HandClock clock_;
  std::unique_ptr<LogTail> tail_;
};

}  // namespace triodrill::watch
