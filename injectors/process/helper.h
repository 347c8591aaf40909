// A helper: a small program of ours that makes an effect again and again, because an injector holds no threads and no
// timers. This is the injector's side: to start it, to find it again by its token, and to end it.
// A helper is a child of the agent and ends with it, with its token's undo, and when its time is up. How often its
// effect was seen stands in its process name ("stutter:12"), so that a fresh process can read the proof without a file
// or a socket. If the injector's process dies, the helper takes its effect back and ends; if the helper dies as well,
// the replay of the record does what it left.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "injectors/process/helper_order.h"
#include "injectors/process/process_identity.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

class Helper {
 public:
  // `program` is the file's name, `counter` the beginning of the process name with the count; `path` is for tests, "" =
  // beside this process's own file.
  Helper(std::string_view program, std::string_view counter, std::string path)
      : program_(program), counter_(counter), path_(std::move(path)) {}

  // Ok if the program is there.
  Status Check(std::string_view kind) const;

  // What is common to the orders of all helpers. Fails without a maximum in the record.
  Result<HelperOrder> OrderFor(const v1::UndoRecord& record, const std::string& token) const;

  // Starts it with `arguments` (without the program's own name) and waits, bounded, until it says that the effect is
  // there.
  Status Start(const HelperOrder& order, const std::vector<std::string>& arguments) const;

  // Every process with that token, each checked again once its pidfd was open.
  Result<std::vector<ProcessHandle>> Find(const std::string& token) const;

  // The most that one of them counts.
  int Count(const std::vector<ProcessHandle>& helpers) const;

  // SIGTERM, then SIGKILL, until a whole look finds none; bounded.
  Status End(const std::string& token) const;

  // Takes the remains of those that ended as children of this process. End does so, too.
  void Reap() const;

  std::string_view program() const { return program_; }

 private:
  Result<std::string> Path() const;
  Status Spawn(const std::string& path, const HelperOrder& order, const std::vector<std::string>& arguments,
               int status_fd) const;
  Status Await(int status_fd) const;
  bool Carries(pid_t pid, const std::string& token) const;

  std::string_view program_;
  std::string_view counter_;
  std::string path_;
};

// A token that no other shot on no other target has.
std::string HelperToken(const v1::AimedFault& fault, std::string_view target);

// The pids of /proc at this moment.
Result<std::vector<pid_t>> AllPids();

}  // namespace triodrill
