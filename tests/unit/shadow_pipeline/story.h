// A small world around the pipeline's core: nodes that obey at once, trainers that step together, a clock that a story
// moves. What a story breaks stays broken until it is mended; what the core orders is done on the next tick.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "drills/shadow/pipeline/core.h"

namespace triodrill::shadow::pipeline {

// Four nodes of two slots, two spare nodes of two; tensor-parallel groups are nodes.
Topology FourNodesAndTwoSpares();
Policy DefaultPolicy();

class Story {
 public:
  explicit Story(Defect defect = Defect::kNone) : Story(WithDefect(defect)) {}
  explicit Story(Policy policy);

  // Launchers come, trainers start, training runs.
  void Train(Nanos time = std::chrono::seconds(3));
  void Pass(Nanos time);
  // Until a line of the log holds `text`, at most `limit`; whether it did.
  bool Until(std::string_view text, Nanos limit = std::chrono::seconds(60));
  void Give(const Event& event);

  // ---- what breaks
  void KillRank(int rank, int signal = 9);
  void KillStandby(const Slot& slot);
  void PauseStandby(const Slot& slot) { paused_.insert(slot); }
  void PauseRank(int rank) { paused_.insert(SlotOfRank(rank)); }
  void ResumeRank(int rank) { paused_.erase(SlotOfRank(rank)); }
  void HangRank(int rank) { hung_.insert(SlotOfRank(rank)); }  // heartbeats go on
  void SlowRank(int rank, double factor) { slow_[SlotOfRank(rank)] = factor; }
  void CutLink(const std::string& node) { cut_.insert(node); }
  void LoseNode(const std::string& node);
  void SuspectBy(int rank_named, const std::string& check);

  // ---- what was said and ordered
  std::vector<std::string> Lines(std::string_view event) const;
  std::string All() const;
  int Count(std::string_view text) const;
  TimePoint TimeOf(std::string_view text) const;  // of the first such line
  std::vector<StartTrainer> starts;
  std::vector<KillTrainer> kills;
  std::vector<Join> joins;  // one for each Tell
  std::vector<LedgerEntry> ledger;
  std::vector<Truth> truth;
  std::vector<RunCheck> checks;

  Config config;
  State state;
  TimePoint now;
  std::vector<int64_t> checkpoints;  // newest first; grows as training runs
  std::set<int64_t> corrupt;         // of which a Join fails
  std::set<Slot> immortal;           // whose trainer does not die
  bool checks_pass = true;
  std::set<std::string> sick;   // nodes whose checks fail
  std::set<Slot> sick_gpus;     // slots whose GPU a check finds sick
  std::set<Slot> mute;          // whose trainer starts and never speaks
  bool storage_answers = true;  // false: a look at the checkpoints never ends
  bool peers_agree = true;      // false: a Join from peers fails

 private:
  static Policy WithDefect(Defect defect);
  struct Process {
    int incarnation = 0;
    int rank = -1;
    int epoch = 0;
    int told_epoch = 0;
    int64_t step = 0;
    uint64_t bytes = 0;
    std::string phase = "idle";
  };
  Slot SlotOfRank(int rank) const;
  void Perform(const Action& action);
  void Obey(const Order& order);
  void TickOnce();
  void StepTogether();
  bool CanMove(const Slot& slot) const;
  void JoinTogether();

  std::map<Slot, Process> processes_;
  std::set<std::string> nodes_;
  std::set<Slot> paused_;
  std::set<Slot> hung_;
  std::map<Slot, double> slow_;
  std::set<std::string> cut_;
  std::deque<Event> answers_;
  std::vector<std::pair<TimePoint, std::string>> lines_;
  Join last_join_;
  bool beat_ = false;
};

}  // namespace triodrill::shadow::pipeline
