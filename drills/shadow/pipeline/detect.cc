// Detection in three ways: heartbeat, log, traffic. A rank is found faulty when as many of the three agree *about it*
// as the policy asks; or when the kernel log says that its GPU is.
//
// When one rank stops, every rank's log and traffic stop with it, since each step ends in a collective of all. So
// silence counts against a rank only if its own heartbeat is missing, too, or if it is the only one that is not waiting
// in a collective. And as long as any rank finishes steps, every rank takes part: then nobody's log or traffic is
// silent.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

bool Waits(const Trainer& trainer) {
  return trainer.phase == "forward" || trainer.phase == "reduce" || trainer.phase == "verify" ||
         trainer.phase == "halted";
}

double Seconds(Nanos nanos) { return std::chrono::duration<double>(nanos).count(); }

}  // namespace

std::string_view NameOf(Fault fault) {
  constexpr std::string_view kNames[] = {"dead", "silent", "hung", "straggler", "sdc", "node_lost", "gpu_error"};
  return kNames[static_cast<size_t>(fault)];
}

bool Machine::BeatMissing(const Trainer& trainer) const {
  if (policy_.Has(Defect::kDeafHeartbeat)) return false;  // PLANTED DEFECT
  return trainer.closed || (now_ >= s_.deaf_until && Past(trainer.last_beat, spec_.detection().heartbeat_timeout()));
}

bool Machine::OnlyOneNotWaiting(int rank) const {
  if (s_.stage != Stage::kRun) return false;
  for (int other = 0; other < World(); ++other) {
    const Trainer* trainer = Seen(other);
    if (trainer == nullptr || (other == rank) == Waits(*trainer)) return false;
    if (Past(trainer->last_beat, spec_.detection().heartbeat_timeout())) return false;  // an old phase says nothing
  }
  return true;
}

void Machine::LookAtRank(int rank) {
  const Trainer* seen = Seen(rank);
  if (seen == nullptr || seen->killed) return;
  Trainer& trainer = TrainerOf(rank);
  // The driver's own word: no symptom, that others would have to confirm.
  if (!trainer.fatal_xid.empty()) {
    return Detected({Fault::kGpuError, s_.placement[rank].node, rank, "kernel_log", trainer.fatal_xid});
  }
  if (!trainer.hello && !trainer.exited) {
    if (s_.stage == Stage::kStart && Past(trainer.started_at, spec_.bounds().start_timeout())) {
      Detected({Fault::kHung, s_.placement[rank].node, rank, "start", "was started and never spoke"});
    }
    return;
  }
  const bool beat_missing = BeatMissing(trainer);
  const bool attributable = beat_missing || OnlyOneNotWaiting(rank);
  const bool timely = now_ >= s_.deaf_until;
  const bool log_silent =
      timely && attributable && Past(std::max(trainer.log_at, s_.progress_at), spec_.detection().log_silence());
  const bool traffic_silent =
      timely && attributable && Past(std::max(trainer.traffic_at, s_.progress_at), spec_.detection().traffic_silence());
  std::vector<std::string> by;
  if (trainer.exited) by.push_back("exit");
  if (beat_missing) by.push_back("heartbeat");
  if (!trainer.exited && (log_silent || !trainer.error_line.empty())) by.push_back("log");
  if (traffic_silent) by.push_back("traffic");
  int required = spec_.detection().signals_required();
  if (policy_.Has(Defect::kSingleSignal)) required = 1;  // PLANTED DEFECT
  const bool only_error = by.size() == 1 && by[0] == "log" && !log_silent;
  if (static_cast<int>(by.size()) >= required && !(only_error && required > 0)) {
    const Fault fault = trainer.exited || trainer.closed ? Fault::kDead : Fault::kHung;
    std::string detail = trainer.exited ? trainer.end : trainer.closed ? "closed its connection" : "";
    if (detail.empty()) {
      detail = absl::StrFormat("last heartbeat %.2f s ago, in phase '%s' of step %d", Seconds(now_ - trainer.last_beat),
                               trainer.phase, trainer.step + 1);
    }
    if (!trainer.error_line.empty()) Append(detail, "; it said: ", trainer.error_line);
    return Detected({fault, s_.placement[rank].node, rank, absl::StrJoin(by, ","), detail});
  }
  if (!tick_ || by.empty() || !trainer.suspected_by.empty() || trainer.exited) return;
  // A rank whose collective broke says so first and is found innocent a moment later.
  if (only_error && !Past(trainer.error_at, spec_.detection().broken_collective_grace())) return;
  trainer.suspected_by = absl::StrJoin(by, ",");
  Log("suspected", {{"slot", s_.placement[rank].Name()}, {"rank", Cat(rank)}, {"by", trainer.suspected_by}});
}

void Machine::LookForLostNodes() {
  for (auto& [name, node] : s_.nodes) {
    if (!node.known || node.connected || !Past(node.gone_at, spec_.detection().heartbeat_timeout())) continue;
    const bool serves = std::any_of(s_.slots.begin(), s_.slots.end(), [&name = name](const auto& entry) {
      return entry.first.node == name && entry.second.service == Service::kServing;
    });
    node.known = false;
    if (serves) Detected({Fault::kNodeLost, name, -1, "launcher,heartbeat", "the connection to its launcher is gone"});
  }
}

void Machine::LookForStall() {
  if (s_.stage != Stage::kRun) return;
  if (s_.failed && Past(s_.failed_at, spec_.detection().broken_collective_grace())) {
    std::string who;
    std::string error;
    for (int rank = 0; rank < World(); ++rank) {
      const Trainer* trainer = Seen(rank);
      if (trainer == nullptr || trainer->failure.empty()) continue;
      Append(who, who.empty() ? "" : ",", rank);
      if (error.empty()) error = trainer->failure;
    }
    return Detected({Fault::kSilent, "", -1, "log", Cat("collective broken, say ranks ", who, ": ", error)});
  }
  if (policy_.Has(Defect::kSilentHang)) return;  // PLANTED DEFECT
  if (now_ < s_.deaf_until || !Past(s_.progress_at, spec_.detection().stall_watchdog())) return;
  Detected({Fault::kSilent, "", -1, "log,traffic",
            absl::StrFormat("no step for %.1f s after step %d, and nobody to blame", Seconds(now_ - s_.progress_at),
                            s_.progress_step)});
}

// Waits a moment for those that can name somebody: one check may see it and another know who.
void Machine::LookForCorruption() {
  constexpr Nanos kCollect = std::chrono::milliseconds(250);
  if (!s_.suspicion || s_.stage != Stage::kRun) return;
  if (s_.suspicion->reporters < World() && now_ - s_.suspicion->since < kCollect) return;
  const Suspicion suspicion = *s_.suspicion;
  const bool named = suspicion.named >= 0 && suspicion.named < World();
  Detected({Fault::kSdc, named ? s_.placement[suspicion.named].node : "", named ? suspicion.named : -1, suspicion.check,
            Cat("step ", suspicion.step, ": ", suspicion.detail)});
  s_.suspicion.reset();
}

void Machine::Detect() {
  if (s_.stage == Stage::kAssemble || s_.stage == Stage::kGaveUp || s_.stage == Stage::kStopping) return;
  LookForLostNodes();
  for (int rank = 0; rank < World(); ++rank) {
    const bool found = std::any_of(s_.repair.verdicts.begin(), s_.repair.verdicts.end(), [&](const Verdict& verdict) {
      return verdict.finding.rank == rank ||
             (verdict.finding.rank < 0 && verdict.finding.node == s_.placement[rank].node);
    });
    if (!found) LookAtRank(rank);
  }
  if (!s_.repair.verdicts.empty()) return;  // what follows needs ranks that all run
  LookForCorruption();
  if (s_.repair.verdicts.empty()) LookForStragglers();
  if (s_.repair.verdicts.empty()) LookForStall();
}

void Machine::Detected(Finding finding) {
  const std::string slot = finding.rank >= 0 ? s_.placement[finding.rank].Name() : "-";
  Log("detected", {{"slot", slot},
                   {"rank", finding.rank >= 0 ? Cat(finding.rank) : "-"},
                   {"node", finding.node.empty() ? "-" : finding.node},
                   {"fault", std::string(NameOf(finding.fault))},
                   {"by", finding.by},
                   {"detail", finding.detail}});
  actions_.push_back(Truth{"detected", finding.rank >= 0 ? slot : "", finding.rank, s_.progress_step});
  const bool unnamed_stall = finding.node.empty() && finding.fault == Fault::kSilent;
  if (unnamed_stall) return StartSelfCheck(finding.detail);
  Diagnose(finding);
}

}  // namespace triodrill::shadow::pipeline
