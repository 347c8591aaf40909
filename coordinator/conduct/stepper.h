// One step of the conductor in the making: the state being changed, the time, the commands so far. Internal to
// conduct/. Split over two files by subject: phases.cc (trials and their phases), shots.cc (the life of a shot).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "coordinator/conduct/event.h"
#include "coordinator/conduct/state.h"

namespace triodrill::conduct {

class Stepper {
 public:
  Stepper(State& state, TimePoint now, std::vector<Command>& commands) : s_(state), now_(now), out_(commands) {}

  // Events, each telling of one thing.
  void On(Tick&&) {}
  void On(StepDone&& done);
  void On(Reported&& report);
  void On(GateSaid&& said);
  void On(PreparedSaid&& said);
  void On(ArmedSaid&& said);
  void On(LandedSaid&& said);
  void On(MissedSaid&& said);
  void On(RevertedSaid&& said);
  void On(AgentLost&& lost);
  void On(AgentBack&& back);
  void On(AbortAsked&& asked);
  void On(Trouble&& trouble);

  // Whatever has become due.
  void Advance();

 private:
  // phases.cc
  void Settle();
  void WaitForGate();
  void Run();
  void CoolDown();
  void OpenTrial();
  void CloseTrial();
  bool EndedSteady() const;
  void NextTrial();
  void End(const std::string& outcome, const std::string& problem);
  void Invalidate(const std::string& why);  // the trial is worth nothing: take everything back
  bool Awaiting() const;                    // something of the trial is still to be seen
  const v1::PlannedTrial& Trial() const { return s_.plan->trials(static_cast<int>(s_.trial)); }
  const v1::DrillSpec& Spec() const { return s_.plan->drill().spec(); }

  // shots.cc
  void TakeShots(std::vector<gate::PermittedShot> shots);
  void NothingToFire();
  void AdvanceFault(FaultState& fault);
  void AdvanceShot(ShotState& shot);
  void FindDue(FaultState& fault);
  bool ConditionMet(const v1::Start& start) const;
  void Arm(FaultState& fault);
  void CheckArmed(FaultState& fault);
  void HoldOrRevert(ShotState& shot);
  void Revert(ShotState& shot);
  void Cancel(ShotState& shot);
  void GiveUp(ShotState& shot, const std::string& problem);  // no confirmation came
  void FailShot(ShotState& shot, const std::string& stage, const std::string& problem);
  void RevertAll();
  bool AllOver() const;
  ShotState* Find(const std::string& name);
  const v1::Start& StartOf(const FaultState& fault) const {
    return s_.shots[fault.shots.front()].shot.planned().start();
  }

  // Facts.
  v1::Fact NewFact(const Instant& at) const;
  v1::Fact NewFact() const { return NewFact(Instant::Exactly(now_)); }
  void Write(v1::Fact fact) { out_.push_back(WriteFact{std::move(fact)}); }
  void Say(std::string text) { out_.push_back(SayProgress{std::move(text)}); }

  State& s_;
  TimePoint now_;
  std::vector<Command>& out_;
};

// In nanoseconds from the run's start.
v1::Instant ToFactInstant(const Instant& at, TimePoint epoch);

// Whether no shot of the trial is owed an undo that was not confirmed.
bool AllConfirmed(const State& state);

// Whether a report that names `named` speaks of a shot at `slot` on `node`.
bool Names(const std::string& named, const std::string& node, const std::string& slot);

}  // namespace triodrill::conduct
