// A whole job of real trainers on 127.0.0.1, each with its own socket pair, as a launcher would have them; below a
// directory of its own. Takes down what it started, however the test ends.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "drills/shadow/owned_fd.h"
#include "drills/shadow/protocol/messages.h"

namespace triodrill::shadow::trainer {

struct JobOptions {
  int world = 8;
  int tensor_parallel = 2;
  std::string step_compute = "1ms";
  std::string gpu_state = "";  // a file of at least `world` shadow GPUs, one a rank; empty: none
  std::string checks = "gradient_hash,state_hash,norm,collective_checksum,replay:8,peer_replay:8,abft";
};

// step -> shard -> the hashes that were said of it, each once.
using StateHashes = std::map<int64_t, std::map<int, std::vector<std::string>>>;

class Job {
 public:
  explicit Job(JobOptions options = {});
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  struct Rank {
    pid_t pid = -1;
    OwnedFd control;
    bool closed = false;  // its end of the control socket
    Beat beat;            // the last
    int beats = 0;
    std::vector<Joined> joined;
    std::vector<Failed> failed;
    std::vector<Suspect> suspects;
    std::vector<Saved> saved;
  };

  void Start(int number);  // also again, after its end
  void StartStandby(int number);
  void StartAll();
  void Tell(int number, const ToTrainer& order);
  // To all ranks, with a new epoch and a new directory for the rendezvous. Returns the epoch.
  int OrderJoin(Join join);
  void OrderHalt(const std::vector<int>& numbers);
  void Signal(int number, int signal_number);
  int Reap(int number);  // waits for its end; its wait status

  // Takes messages until `so`; fails after a bound, with where all ranks are.
  testing::AssertionResult Until(const std::function<bool()>& so, int within_ms = 60'000);
  testing::AssertionResult UntilAllJoined(int epoch);
  testing::AssertionResult UntilAllFailed(int epoch);
  testing::AssertionResult UntilStep(int64_t step);  // all ranks
  testing::AssertionResult UntilHalted(const std::vector<int>& numbers, int within_ms = 60'000);

  Rank& rank(int number) { return ranks_[static_cast<size_t>(number)]; }
  std::vector<int> All() const;
  std::vector<int> AllBut(int number) const;
  const std::string& dir() const { return dir_; }
  int world() const { return options_.world; }

  StateHashes Logged() const;
  // Of the fault-free run, from `triodrill-trainer --reference`.
  StateHashes Reference(int64_t steps) const;

 private:
  void StartAs(const std::string& rank, int number);
  void Take(Rank& one);
  std::string Describe() const;

  const JobOptions options_;
  std::string dir_;
  std::vector<Rank> ranks_;
  int epoch_ = 0;
};

std::string ReadWhole(const std::string& file);

}  // namespace triodrill::shadow::trainer
