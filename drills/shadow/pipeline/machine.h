// The core at work: one event's worth of decisions, over a state that it was lent. Internal to the core.
//
// Facts are taken in first (facts.cc), then faults are looked for (detect.cc), then the repair goes as far as it can
// (repair.cc and its neighbours). Each stage is a function that either waits or hands over to the next.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drills/shadow/pipeline/core.h"

namespace triodrill::shadow::pipeline {

class Machine {
 public:
  Machine(const Config& config, State& state, std::vector<Action>& actions, TimePoint now)
      : config_(config), policy_(config.policy), spec_(config.policy.spec), s_(state), actions_(actions), now_(now) {}

  void Take(const Event& event);

 private:
  // ---- facts.cc
  void On(const NodeHello& hello);
  void On(const Said& said);
  void On(const Started& started);
  void On(const Closed& closed);
  void On(const Exited& exited);
  void On(const ErrorLine& error);
  void On(const NodeReport& report);
  void On(const CheckDone& done);
  void On(const XidSeen& seen);
  void On(const NodeGone& gone);
  void On(const Checkpoints& checkpoints);
  void On(const Confirmed& confirmed);
  void On(const Tick& tick);
  void On(const StopAsked& stop);
  void Heard(Trainer& trainer, const Hello& hello);
  void Heard(Trainer& trainer, const Beat& beat);
  void Heard(Trainer& trainer, const Joined& joined);
  void Heard(Trainer& trainer, const Failed& failed);
  void Heard(Trainer& trainer, const Saved& saved);
  void Heard(Trainer& trainer, const Suspect& suspect);
  Trainer* Find(const Slot& slot, int incarnation);

  // ---- detect.cc
  void Detect();
  bool BeatMissing(const Trainer& trainer) const;
  void LookAtRank(int rank);
  void LookForLostNodes();
  void LookForStall();
  void LookForCorruption();
  bool OnlyOneNotWaiting(int rank) const;
  void Detected(Finding finding);

  // ---- straggler.cc
  void LookForStragglers();
  void LookForDrift();

  // ---- diagnose.cc
  void Diagnose(const Finding& finding, std::optional<Level> level = std::nullopt, std::string group = "");
  Level LevelFor(const Finding& finding);
  void Ledger(const Finding& finding, std::string_view disposition);
  // The actions of the verdicts that await a person's word, empty if there are none.
  std::string Unconfirmed() const;
  void CarryOut();
  void Isolate(const Slot& slot, Level level, std::string_view detail);
  std::vector<Slot> SlotsOf(const Verdict& verdict) const;
  Slot Neighbour(const Slot& slot) const;

  // ---- self_check.cc
  void StartSelfCheck(std::string why);
  void RunSelfCheck();
  void NextRound();
  void ConcludeSelfCheck();
  int OrderNodeCheck(std::map<int, CheckState>& checks, const std::string& node, int gpu = -1);
  void OrderGather(const std::string& one, const std::string& other);
  void BlameNodes();

  // ---- standby.cc
  void TendStandbys();
  void LookAtStandby(const Slot& slot, SlotState& state);
  void LoseStandby(const Slot& slot, SlotState& state, std::string_view why);
  void CheckNodesOfStandbys();
  bool StartStandby();  // false: there is no slot for one
  static bool IsStandby(const SlotState& state);
  bool IsWarm(const Slot& slot, const SlotState& state) const;
  bool MayStand(SlotState& state);  // its standbys have not ended too often
  bool KnownWell(const std::string& node) const;
  bool WarmTakesOver() const;

  // ---- pool.cc
  void TendQuarantine();
  // What a claim would have to wait for, the less the better.
  enum class Ready { kWarm, kStarting, kCold, kDoubtful, kNever };
  Ready ReadinessOf(const Slot& slot);
  std::optional<Slot> PickSpare();
  bool CheckedWell(const Slot& slot, bool& waiting);
  void SpareIsSick(const Slot& slot, std::string_view which, const CheckState& check);
  enum class Health { kUnknown, kWell, kSick };
  Health HealthOf(int check) const;
  bool Claim(int rank);  // false: wait

  // ---- repair.cc
  void Advance();
  bool AdvanceOnce();
  void Assemble();
  void Adopt();
  void OpenCase();
  void AwaitConfirmation(const std::string& actions);
  void AwaitKills();
  void Replace();
  void AwaitStarts();
  void StartIn(const Slot& slot, int rank);
  void Kill(const Slot& slot);
  void HaltAll();
  void GiveUp(std::string_view why);

  // ---- restore.cc
  void Restore();
  void OrderJoin(std::string source, int64_t step);
  void RestoreUnread();
  std::optional<int64_t> StepOfPeers() const;
  void EnterRestore();
  void AwaitJoins();
  void JoinBroke(std::string_view why);
  void BlameForJoin();
  void Resume();

  // ---- small things
  void Enter(Stage stage) {
    s_.stage = stage;
    s_.since = now_;
  }
  bool Past(TimePoint since, const google::protobuf::Duration& limit) const { return now_ - since > ToNanos(limit); }
  void Log(std::string event, std::vector<std::pair<std::string, std::string>> values) {
    actions_.push_back(LogLine{std::move(event), std::move(values)});
  }
  void Tell(const Slot& slot, ToTrainer message);
  Trainer& TrainerOf(int rank) { return s_.slots[s_.placement[rank]].trainer; }
  const Trainer* Seen(int rank) const;
  int RankAt(const Slot& slot) const;  // -1: none
  int World() const { return config_.topology.world; }

  const Config& config_;
  const Policy& policy_;
  const v1::ShadowPolicySpec& spec_;
  State& s_;
  std::vector<Action>& actions_;
  const TimePoint now_;
  bool tick_ = false;
};

std::string_view NameOf(Fault fault);
std::string_view NameOf(Level level);

}  // namespace triodrill::shadow::pipeline
