// Finds the job's worker processes on this node, as the pipeline's profile describes them. One thread. Reads only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/fleet.pb.h"

namespace re2 {
class RE2;
}  // namespace re2

namespace triodrill::agent {

// The value of `name` in the bytes of /proc/PID/environ as a number; -1 if it is missing or no number. Pure.
int NumberFromEnvironment(std::string_view environment, std::string_view name);

// Whether `environment` has a place for that number and something else in it: a spare that is up already and gets its
// rank, and writes it there, when one is needed. Pure.
bool AwaitsNumber(std::string_view environment, std::string_view name);

class RankScan {
 public:
  static Result<RankScan> Of(const v1::RankProcess& how);
  RankScan(RankScan&&) noexcept;
  RankScan& operator=(RankScan&&) noexcept;
  ~RankScan();

  // The workers that were not there at the last scan. A process is looked at often while it is young, for it may still
  // become a worker (fork, then exec), or while it is a spare that waits for a rank, and once in a while later on.
  std::vector<v1::RankFound> Look(TimePoint now);

  // It has ended: its pid may come again.
  void Forget(int pid);

 private:
  struct Seen {
    uint64_t start_time_ticks = 0;
    TimePoint first;
    bool worker = false;
    bool spare = false;  // waits for its rank
  };
  RankScan();
  // What it is, in `seen`; a worker is described in `found`.
  void Recognise(int pid, Seen& seen, v1::RankFound& found) const;

  std::unique_ptr<re2::RE2> command_line_;
  std::string rank_env_;
  std::string local_rank_env_;
  std::map<int, Seen> seen_;
  TimePoint next_thorough_;
};

}  // namespace triodrill::agent
