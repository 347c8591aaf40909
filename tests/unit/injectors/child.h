// Real processes to break, each ended and reaped with its object.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "injectors/process/process_identity.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill::testing {

class Child {
 public:
  // Runs `body` in a forked child. It must not return into the test: the child ends with it.
  explicit Child(const std::function<void()>& body);
  // One that waits for its end in `threads` threads.
  static Child Idle(int threads = 1);
  // One whose command line is NAME and a number, and which sleeps.
  static Child Named(const std::string& name);
  // One that computes without end.
  static Child Busy();
  // One that takes another page of memory each millisecond.
  static Child Growing();
  ~Child();
  Child(Child&& other) noexcept : pid_(other.pid_) { other.pid_ = 0; }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  v1::ProcessIdentity identity() const;
  // SIGKILL; not reaped, so it stays a zombie until Reap or the end.
  void Kill() const;
  // Waits for its end and returns what waitpid said.
  int Reap();
  char State() const;
  // Neither stopped nor dead: asleep, or on its way there.
  bool Runs() const {
    const char state = State();
    return state == 'S' || state == 'R';
  }

 private:
  pid_t pid_;
};

// Kills processes that watch each other, so that none acts on the end of another: each is seen stopped first, and goes
// before its parent, since the kernel continues what is stopped in a process group whose last parent ends. False if one
// does not stop or end in time.
bool KillUnawares(std::vector<pid_t> pids);

// A launcher, whose command line is NAME and a number, and below it a rank that ends with it.
class LaunchedChild {
 public:
  explicit LaunchedChild(const std::string& name);

  const Child& launcher() const { return launcher_; }
  const v1::ProcessIdentity& rank() const { return rank_; }

 private:
  Child launcher_;
  v1::ProcessIdentity rank_;
};

// What the job's processes are called that the faults on whole nodes find by themselves: of this test alone, for others
// run beside it.
std::string NodeJobName();

// A fault of `kind` on a process, with valid parameters.
v1::AimedFault Aim(const std::string& kind, const v1::ProcessIdentity& target, const std::string& shot = "1.a.0");
v1::AimedFault Aim(const std::string& kind, const v1::LinkIdentity& target, const std::string& shot = "1.a.0");

// Runs a program with an argument vector, to its end. `code` is -1 if it did not exit.
struct Finished {
  int code = -1;
  std::string out;
  std::string err;
};
Finished RunProgram(const std::vector<std::string>& arguments);

// Looks until it is true, at most ten seconds.
bool Eventually(const std::function<bool()>& condition);

// A directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace triodrill::testing
