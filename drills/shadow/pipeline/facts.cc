// What was said is taken into the state. No decision here but to ignore what is old.
#include <algorithm>
#include <cmath>

#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {

Trainer* Machine::Find(const Slot& slot, int incarnation) {
  const auto found = s_.slots.find(slot);
  if (found == s_.slots.end() || found->second.trainer.incarnation != incarnation) return nullptr;
  return &found->second.trainer;
}

void Machine::On(const NodeHello& hello) {
  const auto found = s_.nodes.find(hello.node);
  if (found == s_.nodes.end()) return;  // not of this partition
  NodeState& node = found->second;
  node.known = node.connected = true;
  node.probe_port = hello.probe_port;
  node.interface_at = now_;
  for (const RunningTrainer& running : hello.trainers) {
    s_.next_incarnation = std::max(s_.next_incarnation, running.incarnation + 1);
    if (s_.stage != Stage::kAssemble) continue;
    const auto slot = s_.slots.find(Slot{hello.node, running.slot});
    if (slot == s_.slots.end()) continue;
    Trainer trainer;
    trainer.incarnation = running.incarnation;
    trainer.rank = running.rank;
    trainer.hello = true;
    trainer.joined_epoch = running.epoch;
    trainer.started_at = trainer.last_beat = trainer.log_at = trainer.traffic_at = now_;
    slot->second.trainer = trainer;
    s_.epoch = std::max(s_.epoch, running.epoch);
  }
  if (s_.stage == Stage::kAssemble) return;
  // A launcher that comes back without a trainer that it had: that trainer is gone, and this is the report of its end.
  for (auto& [slot, state] : s_.slots) {
    if (slot.node != hello.node || (!state.trainer.Lives() && !state.trainer.lingers)) continue;
    const bool there = std::any_of(hello.trainers.begin(), hello.trainers.end(), [&](const RunningTrainer& running) {
      return running.slot == slot.local_rank && running.incarnation == state.trainer.incarnation;
    });
    if (there) continue;
    state.trainer.closed = state.trainer.exited = true;
    state.trainer.lingers = false;
    state.trainer.end = "gone when its launcher came back";
  }
}

void Machine::On(const NodeGone& gone) {
  const auto found = s_.nodes.find(gone.node);
  if (found == s_.nodes.end() || !found->second.connected) return;
  found->second.connected = false;
  found->second.gone_at = now_;
}

void Machine::On(const Said& said) {
  Trainer* trainer = Find(said.slot, said.incarnation);
  if (trainer == nullptr) return;
  std::visit([&](const auto& message) { Heard(*trainer, message); }, said.message);
}

void Machine::Heard(Trainer& trainer, const Hello&) {
  trainer.hello = true;
  trainer.last_beat = trainer.log_at = trainer.traffic_at = now_;
}

void Machine::Heard(Trainer& trainer, const Beat& beat) {
  trainer.hello = true;
  trainer.last_beat = now_;
  if (trainer.suspected_by == "heartbeat") trainer.suspected_by.clear();
  const uint64_t bytes = beat.sent_bytes + beat.received_bytes;
  if (bytes != trainer.bytes) trainer.traffic_at = now_;
  if (beat.last_line != trainer.last_line) trainer.log_at = now_;
  trainer.bytes = bytes;
  trainer.last_line = beat.last_line;
  trainer.phase = beat.phase;
  if (beat.step != trainer.step && trainer.step >= 0 && beat.compute_ns > 0) {
    const size_t most = static_cast<size_t>(spec_.detection().straggler_window());
    trainer.compute_ns.push_back(beat.compute_ns);
    trainer.wait_ns.push_back(beat.wait_ns);
    if (trainer.compute_ns.size() > most) trainer.compute_ns.pop_front();
    if (trainer.wait_ns.size() > most) trainer.wait_ns.pop_front();
    trainer.all_compute_ns += static_cast<double>(beat.compute_ns);
    ++trainer.steps_seen;
  }
  trainer.step = beat.step;
  if (s_.stage != Stage::kRun || trainer.joined_epoch != s_.epoch || beat.step <= s_.progress_step) return;
  s_.progress_step = beat.step;
  s_.progress_at = now_;
  if (!s_.resumed && beat.step > s_.restored_step) Resume();
}

void Machine::Heard(Trainer& trainer, const Joined& joined) {
  if (joined.epoch != s_.epoch) return;
  trainer.joined_epoch = joined.epoch;
  trainer.step = joined.step;
  trainer.compute_ns.clear();
  trainer.wait_ns.clear();
  trainer.all_compute_ns = 0;
  trainer.steps_seen = trainer.slow_for = 0;
  trainer.log_at = trainer.traffic_at = now_;
  trainer.error_line.clear();
  trainer.failure.clear();
  trainer.suspected_by.clear();
}

void Machine::Heard(Trainer& trainer, const Failed& failed) {
  if (failed.epoch != s_.epoch) return;
  trainer.failure = failed.error;
  trainer.failed_at = now_;
  if (s_.stage == Stage::kJoin && failed.corrupt_checkpoint) {
    s_.repair.corrupt.insert(s_.restore_step);
    Log("diagnosed", {{"slot", "-"},
                      {"node", "-"},
                      {"cause", Cat("checkpoint of step ", s_.restore_step, " is corrupt: ", failed.error)}});
    HaltAll();
    return EnterRestore();
  }
  if (s_.stage == Stage::kJoin) return JoinBroke(failed.error);
  if (s_.stage == Stage::kRun && !s_.failed) {
    s_.failed = true;
    s_.failed_at = now_;
  }
}

void Machine::Heard(Trainer& trainer, const Saved& saved) {
  if (saved.stage != "failed" || trainer.rank < 0 || trainer.rank >= World()) return;
  // The disk's fault and not the rank's: it is said, and counts for nothing against anybody.
  Log("checkpoint_not_saved", {{"slot", s_.placement[trainer.rank].Name()},
                               {"rank", Cat(trainer.rank)},
                               {"step", Cat(saved.step)},
                               {"detail", saved.problem}});
}

// Every rank that knows says so; the first word opens the suspicion, and a name is better than none.
void Machine::Heard(Trainer& trainer, const Suspect& suspect) {
  if (s_.stage != Stage::kRun || trainer.joined_epoch != s_.epoch) return;
  if (!s_.suspicion) {
    s_.suspicion = Suspicion{suspect.step, now_, suspect.check, suspect.rank, suspect.detail, 0};
  } else if (s_.suspicion->step != suspect.step) {
    return;
  } else if (s_.suspicion->named < 0 && suspect.rank >= 0) {
    s_.suspicion->check = suspect.check;
    s_.suspicion->named = suspect.rank;
    s_.suspicion->detail = suspect.detail;
  }
  ++s_.suspicion->reporters;
}

void Machine::On(const Started& started) {
  Trainer* trainer = Find(started.slot, started.incarnation);
  if (trainer == nullptr || started.pid > 0) return;
  trainer->closed = trainer->exited = true;
  trainer->end = Cat("could not be started: ", started.problem);
}

void Machine::On(const Closed& closed) {
  if (Trainer* trainer = Find(closed.slot, closed.incarnation)) trainer->closed = true;
}

void Machine::On(const Exited& exited) {
  Trainer* trainer = Find(exited.slot, exited.incarnation);
  if (trainer == nullptr) return;
  trainer->exited = true;
  trainer->lingers = false;
  trainer->end = exited.signal != 0 ? Cat("killed by signal ", exited.signal) : Cat("exited with code ", exited.code);
}

void Machine::On(const ErrorLine& error) {
  Trainer* trainer = Find(error.slot, error.incarnation);
  if (trainer == nullptr) return;
  trainer->error_line = error.line;
  trainer->error_at = now_;
}

void Machine::On(const NodeReport& report) {
  const auto found = s_.nodes.find(report.node);
  if (found == s_.nodes.end()) return;
  const uint64_t bytes = report.received_bytes + report.sent_bytes;
  if (bytes != found->second.interface_bytes) found->second.interface_at = now_;
  found->second.interface_bytes = bytes;
  for (size_t i = 0; i < report.log_age_ms.size(); ++i) {
    const auto slot = s_.slots.find(Slot{report.node, static_cast<int>(i)});
    if (slot == s_.slots.end() || report.log_age_ms[i] < 0) continue;
    Trainer& trainer = slot->second.trainer;
    trainer.log_at = std::max(trainer.log_at, now_ - std::chrono::milliseconds(report.log_age_ms[i]));
  }
}

void Machine::On(const CheckDone& done) {
  for (std::map<int, CheckState>* checks : {&s_.checks, &s_.self_check.checks}) {
    const auto found = checks->find(done.id);
    if (found == checks->end() || found->second.done || found->second.node != done.node) continue;
    found->second.done = true;
    found->second.ok = done.ok;
    found->second.detail = done.detail;
    found->second.unreachable = done.unreachable;
    found->second.gpu_sick = done.gpu_sick;
  }
}

// Of a GPU that nobody computes on there is only its place in the pool to lose.
void Machine::On(const XidSeen& seen) {
  const auto found = s_.slots.find(seen.slot);
  if (found == s_.slots.end()) return;
  const bool fatal = policy_.fatal_xids.contains(seen.xid);
  Log("xid",
      {{"slot", seen.slot.Name()}, {"xid", Cat(seen.xid)}, {"fatal", fatal ? "yes" : "no"}, {"line", seen.line}});
  if (!fatal || s_.stage == Stage::kAssemble) return;
  if (RankAt(seen.slot) >= 0) {
    found->second.trainer.fatal_xid = seen.line;
  } else {
    Isolate(seen.slot, Level::kGpu, seen.line);
  }
}

void Machine::On(const Checkpoints& checkpoints) {
  const bool awaited = s_.stage == Stage::kRestore && s_.repair.reading == checkpoints.request;
  if (awaited) s_.repair.checkpoints = checkpoints.steps;
}

void Machine::On(const Confirmed&) {
  if (s_.stage == Stage::kConfirm) s_.repair.confirmed = true;
}

void Machine::On(const Tick&) {
  // Were we held up ourselves, everybody's heartbeat looks late.
  constexpr Nanos kGap = std::chrono::milliseconds(250);
  if (now_ - s_.last_tick > kGap) s_.deaf_until = now_ + ToNanos(spec_.detection().heartbeat_timeout());
  s_.last_tick = now_;
}

void Machine::On(const StopAsked&) {
  if (s_.stage == Stage::kStopping) return;
  Enter(Stage::kStopping);
  for (const auto& [name, node] : s_.nodes) {
    if (node.connected) actions_.push_back(Order{name, StopNode{}});
  }
  actions_.push_back(EndProgram{});
}

}  // namespace triodrill::shadow::pipeline
