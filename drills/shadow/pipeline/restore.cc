// Which state the job goes on from, and the way back into training: one Join for all, and a bound on it.
#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {

void Machine::EnterRestore() {
  s_.repair.reading = false;
  s_.repair.checkpoints.reset();
  Enter(Stage::kRestore);
}

void Machine::Restore() {
  if (!s_.repair.wait_set) {
    s_.repair.wait_set = true;
    s_.repair.not_before = now_;
    if (policy_.Has(Defect::kSlowRestore) && s_.repair.open) {  // PLANTED DEFECT
      s_.repair.not_before += std::chrono::seconds(30);
    }
  }
  if (now_ < s_.repair.not_before) return;
  if (policy_.Has(Defect::kRestartFromZero) && s_.repair.open) return OrderJoin("scratch", 0, -1);  // PLANTED DEFECT
  if (s_.repair.open && spec_.recovery().source() == v1::PEERS && !s_.repair.rollback_only && s_.repair.joins == 0) {
    int64_t step = 0;
    if (const std::optional<int> peer = PeerReplica(step)) return OrderJoin("peers", step, *peer);
  }
  if (!s_.repair.reading) {
    s_.repair.reading = true;
    actions_.push_back(ReadCheckpoints{});
  }
  if (!s_.repair.checkpoints) return;
  std::vector<int64_t> steps;
  for (const int64_t step : *s_.repair.checkpoints) {
    if (!s_.repair.corrupt.contains(step)) steps.push_back(step);
  }
  if (steps.empty() && !s_.repair.corrupt.empty()) return GiveUp("no checkpoint that is kept verifies");
  if (steps.empty()) return OrderJoin("scratch", 0, -1);
  if (policy_.Has(Defect::kStaleLatest)) return OrderJoin("checkpoint", steps.back(), -1);  // PLANTED DEFECT
  OrderJoin("checkpoint", steps.front(), -1);
}

// A replica whose ranks all kept their process, and stand at one step.
std::optional<int> Machine::PeerReplica(int64_t& step) const {
  const int shards = config_.topology.tensor_parallel;
  for (int first = 0; first + shards <= World(); first += shards) {
    bool whole = true;
    for (int rank = first; rank < first + shards; ++rank) {
      const Trainer* trainer = Seen(rank);
      whole = whole && trainer != nullptr && trainer->Lives() && trainer->joined_epoch == s_.epoch &&
              trainer->step >= 0 && trainer->phase == "halted" && trainer->step == Seen(first)->step;
    }
    if (!whole) continue;
    step = Seen(first)->step;
    return first;
  }
  return std::nullopt;
}

void Machine::OrderJoin(std::string source, int64_t step, int peer) {
  ++s_.epoch;
  ++s_.repair.joins;
  s_.repair.join_broken = false;
  s_.failed = false;
  s_.suspicion.reset();
  Join join;
  join.epoch = s_.epoch;
  join.world = World();
  join.store = Cat(config_.run_dir, "/store/epoch-", s_.epoch);
  join.source = source;
  join.step = step;
  join.verify = spec_.recovery().verify();
  if (policy_.Has(Defect::kUnverifiedCheckpoint)) join.verify = false;  // PLANTED DEFECT
  join.peer = peer;
  actions_.push_back(MakeStore{join.store, true});
  for (int rank = 0; rank < World(); ++rank) {
    if (s_.repair.rendezvous_closed && s_.repair.replaced.contains(rank)) continue;
    join.rank = rank;
    Tell(s_.placement[rank], join);
  }
  s_.restored_from = source;
  s_.restore_step = step;
  Log("restore_ordered", {{"source", source}, {"step", Cat(step)}, {"epoch", Cat(s_.epoch)}});
  Enter(Stage::kJoin);
}

void Machine::AwaitJoins() {
  bool all = true;
  int64_t step = s_.restore_step;
  for (int rank = 0; rank < World(); ++rank) {
    const Trainer* trainer = Seen(rank);
    all = all && trainer != nullptr && trainer->joined_epoch == s_.epoch;
    if (all) step = trainer->step;
  }
  if (all) {
    Log("restored", {{"step", Cat(step)}, {"epoch", Cat(s_.epoch)}});
    actions_.push_back(Truth{"restored", "", -1, step});
    s_.progress_step = s_.restored_step = step;
    s_.progress_at = now_;
    s_.resumed = false;
    const std::optional<Slot> restarted = s_.repair.restarted;
    for (const auto& [node, check] : s_.repair.health) s_.checks.erase(check);
    s_.repair = Case{};
    Enter(Stage::kRun);
    if (policy_.Has(Defect::kReplayStaleEvent) && restarted && RankAt(*restarted) >= 0) {  // PLANTED DEFECT
      Detected({Fault::kDead, restarted->node, RankAt(*restarted), "exit,heartbeat", "killed by signal 9"});
    }
    return;
  }
  if (s_.repair.join_broken && Past(s_.repair.join_broken_at, spec_.detection().broken_collective_grace())) {
    return JoinBroke(s_.repair.join_error);
  }
  if (!Past(s_.since, spec_.bounds().join_timeout())) return;
  if (s_.repair.rendezvous_closed) return GiveUp("two claims for one spare closed the rendezvous");
  BlameForJoin();
}

// Called by the first report, and again once whoever broke it had time to be found.
void Machine::JoinBroke(std::string_view why) {
  if (!s_.repair.join_broken) {
    s_.repair.join_broken = true;
    s_.repair.join_broken_at = now_;
    s_.repair.join_error = std::string(why);
    return;
  }
  if (!Past(s_.repair.join_broken_at, spec_.detection().broken_collective_grace())) return;
  if (s_.repair.joins < spec_.bounds().join_attempts()) {
    HaltAll();
    return EnterRestore();
  }
  if (s_.repair.self_checked) return GiveUp(Cat("ranks cannot join: ", why));
  s_.repair.self_checked = true;
  StartSelfCheck(Cat("ranks cannot join: ", why));
}

// Join timed out. Who has not even begun is to blame; if that is nobody, or everybody, the nodes check themselves.
void Machine::BlameForJoin() {
  std::vector<int> idle;
  std::string missing;
  for (int rank = 0; rank < World(); ++rank) {
    const Trainer* trainer = Seen(rank);
    if (trainer == nullptr || trainer->joined_epoch == s_.epoch) continue;
    Append(missing, missing.empty() ? "" : ",", rank);
    if (trainer->phase != "join") idle.push_back(rank);
  }
  if (!idle.empty() && static_cast<int>(idle.size()) < World()) {
    for (const int rank : idle) {
      Detected({Fault::kHung, s_.placement[rank].node, rank, "join", "was told to join and did not begin"});
    }
    return;
  }
  if (s_.repair.self_checked) return GiveUp(Cat("ranks ", missing, " did not join in time"));
  s_.repair.self_checked = true;
  StartSelfCheck(Cat("ranks ", missing, " did not join in time"));
}

void Machine::Resume() {
  s_.resumed = true;
  actions_.push_back(Truth{"resumed", "", -1, s_.progress_step});
}

}  // namespace triodrill::shadow::pipeline
