// Runs the real programs as a user would: argument vector, own output files, ends them by pidfd, never leaves one
// behind.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace triodrill::testing {

// A directory of its own, short enough for a Unix socket's path, gone afterwards.
class TempDir {
 public:
  TempDir() {
    std::string name = "/tmp/tdXXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Looks again every few milliseconds until `done` or the time is up. The condition decides, never the time.
inline bool Eventually(std::chrono::milliseconds within, const std::function<bool()>& done) {
  for (std::chrono::milliseconds waited{0}; waited < within; waited += std::chrono::milliseconds(10)) {
    if (done()) return true;
    poll(nullptr, 0, 10);
  }
  return done();
}

class Program {
 public:
  Program(std::vector<std::string> argv, const std::string& out, const std::string& err) : out_(out), err_(err) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    std::vector<char*> pointers;
    for (std::string& argument : argv) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    if (posix_spawn(&pid_, pointers[0], &actions, nullptr, pointers.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    if (pid_ > 0) pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  }
  ~Program() {
    if (pid_ > 0 && !status_) {
      Signal(SIGKILL);
      Wait(std::chrono::seconds(30));
    }
    if (pidfd_ >= 0) close(pidfd_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const { syscall(SYS_pidfd_send_signal, pidfd_, signal, nullptr, 0); }

  // Exit code, or 128 + signal; nullopt if it still runs after `patience`.
  std::optional<int> Wait(std::chrono::seconds patience) {
    if (status_) return status_;
    pollfd ended{pidfd_, POLLIN, 0};
    if (poll(&ended, 1, static_cast<int>(patience.count() * 1000)) != 1) return std::nullopt;
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) return std::nullopt;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return status_;
  }
  bool Running() const {
    pollfd ended{pidfd_, POLLIN, 0};
    return !status_ && poll(&ended, 1, 0) == 0;
  }
  std::string Out() const { return Slurp(out_); }
  std::string Err() const { return Slurp(err_); }

 private:
  std::string out_, err_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  std::optional<int> status_;
};

}  // namespace triodrill::testing
