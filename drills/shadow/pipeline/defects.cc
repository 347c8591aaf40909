#include "drills/shadow/pipeline/defects.h"

#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

struct Row {
  Defect defect;
  std::string_view name;
  std::string_view sentence;
};

constexpr Row kRows[] = {
    {Defect::kSingleSignal, "single_signal", "Isolates on one signal alone, a missing heartbeat for instance."},
    {Defect::kDeafHeartbeat, "deaf_heartbeat", "Never notices that a heartbeat is missing or a connection closed."},
    {Defect::kSilentHang, "silent_hang", "Arms the stall watchdog, which never fires."},
    {Defect::kGlobalRestart, "global_restart", "Kills and starts every rank on any fault."},
    {Defect::kWrongNode, "wrong_node", "Isolates the neighbour of the faulty slot's node."},
    {Defect::kOverEvict, "over_evict", "Evicts the whole data-parallel group of the faulty slot."},
    {Defect::kSameNodeAgain, "same_node_again", "Starts the replacement on the same slot and isolates nothing."},
    {Defect::kSpareRace, "spare_race", "Two claims for one spare close the rendezvous: the job is given up."},
    {Defect::kStaleLatest, "stale_latest", "Restores the oldest checkpoint that is kept."},
    {Defect::kUnverifiedCheckpoint, "unverified_checkpoint", "Does not verify the checkpoint that it restores."},
    {Defect::kNoBounds, "no_bounds", "Restarts in place for ever."},
    {Defect::kRestartFromZero, "restart_from_zero", "Restores nothing: training begins again."},
    {Defect::kSlowRestore, "slow_restore", "Waits 30 s before each restore."},
    {Defect::kSdcBlind, "sdc_blind", "Starts trainers without checks for silent corruption."},
    {Defect::kDriftAlarm, "drift_alarm", "Calls half a per cent over a rank's own mean a straggler."},
    {Defect::kReplayStaleEvent, "replay_stale_event",
     "Reads the exit of a rank that was restarted in place again, and isolates its slot."},
};

}  // namespace

Result<Defect> ParseDefect(std::string_view name) {
  if (name.empty()) return Defect::kNone;
  std::string known;
  for (const Row& row : kRows) {
    if (row.name == name) return row.defect;
    Append(known, known.empty() ? "" : ", ", row.name);
  }
  return absl::InvalidArgumentError(Cat("unknown defect '", name, "'; known: ", known));
}

std::string DescribeDefects() {
  std::string text;
  for (const Row& row : kRows) Append(text, row.name, std::string(24 - row.name.size(), ' '), row.sentence, "\n");
  return text;
}

}  // namespace triodrill::shadow::pipeline
