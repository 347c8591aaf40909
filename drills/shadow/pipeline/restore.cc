// Which state the job goes on from, and the way back into training: one Join for all, and a bound on it.
#include <algorithm>
#include <set>

#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {

void Machine::EnterRestore() {
  s_.repair.reading = 0;
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
  if (policy_.Has(Defect::kRestartFromZero) && s_.repair.open) return OrderJoin("scratch", 0);  // PLANTED DEFECT
  if (s_.repair.open && spec_.recovery().source() == v1::PEERS && !s_.repair.rollback_only) {
    if (const std::optional<int64_t> step = StepOfPeers()) return OrderJoin("peers", *step);
  }
  if (s_.repair.reading == 0) {
    s_.repair.reading = s_.next_reading++;
    s_.repair.reading_since = now_;
    actions_.push_back(ReadCheckpoints{s_.repair.reading});
  }
  if (!s_.repair.checkpoints) {
    if (Past(s_.repair.reading_since, spec_.bounds().join_timeout())) RestoreUnread();
    return;
  }
  std::vector<int64_t> steps;
  for (const int64_t step : *s_.repair.checkpoints) {
    if (!s_.repair.corrupt.contains(step)) steps.push_back(step);
  }
  if (steps.empty() && !s_.repair.corrupt.empty()) return GiveUp("no checkpoint that is kept verifies");
  if (steps.empty()) return OrderJoin("scratch", 0);
  if (policy_.Has(Defect::kStaleLatest)) return OrderJoin("checkpoint", steps.back());  // PLANTED DEFECT
  OrderJoin("checkpoint", steps.front());
}

// The storage does not answer. What the survivors hold needs none.
void Machine::RestoreUnread() {
  Log("checkpoints_unread", {{"waited", Cat(ToNanos(spec_.bounds().join_timeout()).count() / 1'000'000, "ms")}});
  const std::optional<int64_t> step = s_.repair.rollback_only ? std::nullopt : StepOfPeers();
  if (!step) return GiveUp("the checkpoints cannot be read, and memory is no way back");
  OrderJoin("peers", *step);
}

// The newest step that survivors told of, if they hold every shard between them. A survivor took part in the last epoch
// that was whole, or joined later one that came from it. A pipeline that was just started knows no steps yet, and
// leaves its ranks' memory alone.
std::optional<int64_t> Machine::StepOfPeers() const {
  std::set<int> shards;
  int64_t newest = -1;
  for (int rank = 0; rank < World(); ++rank) {
    const Trainer* trainer = Seen(rank);
    if (trainer == nullptr || !trainer->Lives() || trainer->killed || trainer->closed || trainer->step < 0) continue;
    if (trainer->joined_epoch == 0 || trainer->joined_epoch < s_.whole_epoch) continue;
    shards.insert(rank % config_.topology.tensor_parallel);
    newest = std::max(newest, trainer->step);
  }
  if (static_cast<int>(shards.size()) < config_.topology.tensor_parallel) return std::nullopt;
  return newest;
}

void Machine::OrderJoin(std::string source, int64_t step) {
  if (source != "peers") s_.repair.rollback_only = true;  // from here on memory is not all of one past
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
    s_.whole_epoch = s_.epoch;
    s_.progress_step = s_.restored_step = step;
    s_.progress_at = now_;
    s_.resumed = false;
    const std::optional<Slot> restarted = s_.repair.restarted;
    for (const auto& [slot, check] : s_.repair.health) s_.checks.erase(check);
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
  s_.repair.rollback_only = true;
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
