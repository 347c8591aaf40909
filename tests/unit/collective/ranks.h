// A job of several ranks over the stand-in NCCL, each its own process under the shim; ended and reaped with the object.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "injectors/collective/shim_page.h"
#include "injectors/process/process_identity.h"
#include "tests/unit/collective/rank_calls.h"

namespace triodrill::testing {

struct JobShape {
  int ranks = 4;
  const char* program = TRIODRILL_RANK_NEEDED;
  const char* library = TRIODRILL_FAKE_NCCL_DIR;  // where its NCCL is
  bool preload = true;
  bool audit = false;
  bool cuda = false;  // the stand-in driver is loaded
  bool blocking = true;
  std::vector<std::string> environment;
};

class Ranks {
 public:
  // Nothing runs if `trouble()` is not "".
  explicit Ranks(const JobShape& shape = {});
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  const std::string& trouble() const { return trouble_; }
  int count() const { return static_cast<int>(members_.size()); }
  pid_t pid(int rank) const { return members_[static_cast<size_t>(rank)].pid; }
  v1::ProcessIdentity identity(int rank) const;
  Result<ShimPage> Page(int rank) const;

  void Tell(int rank, const std::string& line);
  void TellAll(const std::string& line);
  // The rank's answer to its oldest unanswered line; -1 if it ended, -2 if none came within `seconds`.
  int Answer(int rank, int seconds = 40);
  // Of all; 0 if all say so.
  int AnswerAll(int seconds = 40);
  bool HasAnswered(int rank) { return Readable(rank, 0); }

  // What was sent or received in call number `call` of a batch.
  const char* Sent(int rank, uint64_t call, const Sizes& sizes, size_t width) const;
  const char* Received(int rank, uint64_t call, const Sizes& sizes, size_t width) const;

 private:
  struct Member {
    pid_t pid = 0;
    int to = -1;
    int from = -1;
  };
  void Start(const JobShape& shape, int rank, int results);
  bool Readable(int rank, int milliseconds);

  std::string trouble_;
  std::string id_;
  std::vector<Member> members_;
  char* results_ = nullptr;
};

// A line that tells a rank to make calls.
std::string CallLine(collective::Operation operation, nccl::DataType type, uint64_t count, uint64_t seed,
                     uint64_t calls = 1, const char* mode = "plain");

// A rule for a call of `operation`, that acts in the first one and is over in an hour.
collective::RuleOrder RuleFor(collective::Operation operation, collective::Action action,
                              collective::Moment moment = collective::kBefore);

}  // namespace triodrill::testing
