// The conductor's whole memory: a value.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/conduct/event.h"
#include "coordinator/conduct/progress.h"
#include "coordinator/gate/permit.h"
#include "triodrill/time.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill::conduct {

// Bounds of the conductor's own patience; the drill's deadlines are in the plan.
struct Settings {
  TimePoint epoch;                              // instants in facts are counted from here
  Nanos lead = std::chrono::milliseconds(500);  // from "armed, please" to the shot
  Nanos guard = std::chrono::milliseconds(50);  // every "armed" must be in this long before the shot
  Nanos prepare_within = std::chrono::seconds(10);
  Nanos gate_within = std::chrono::seconds(15);
  Nanos land_within = std::chrono::seconds(10);  // after the shot; the node itself gives up sooner
  Nanos undo_within = std::chrono::seconds(20);  // after it was asked for, also over an agent's restart
  Nanos tail = std::chrono::milliseconds(500);   // observed past the last event, so that no window is cut
  int invalid_in_a_row = 3;                      // trials, before the run is given up
};

enum class Stage {
  kWaiting,    // for its start
  kPreparing,  // asked the node to resolve and read
  kPrepared,
  kArming,     // asked to record the undo and to fire at the instant
  kArmed,      // the undo is on disk
  kLanded,     // the effect was seen
  kReverting,  // asked to take it back
  kOver,
};

struct ShotState {
  gate::PermittedShot shot;
  Stage stage = Stage::kWaiting;
  TimePoint asked{};  // when the stage's question was asked
  std::optional<Instant> landed;
  bool owed = false;  // the node may hold a record: an undo must be confirmed
  bool confirmed = false;
  bool isolated = false;  // the pipeline has taken its target out
};

// The shots of one fault are prepared and fired together.
struct FaultState {
  std::string id;
  std::optional<TimePoint> due;  // known once its start condition is met
  std::optional<TimePoint> fire_at;
  std::vector<size_t> shots;  // into State::shots
};

enum class Phase { kSettling, kGate, kRunning, kCooldown, kDone };

struct State {
  std::shared_ptr<const v1::Plan> plan;
  Settings settings;
  Steadiness steadiness;
  Phase phase = Phase::kSettling;
  size_t trial = 0;                 // index into plan->trials()
  bool trial_open = false;          // TrialStarted was written
  TimePoint since{};                // start of the phase
  bool restarted_workload = false;  // in this trial
  int invalid_in_a_row = 0;

  ProgressTrack progress;
  std::optional<TimePoint> last_report;
  std::optional<Baseline> baseline;
  std::vector<FaultState> faults;
  std::vector<ShotState> shots;
  std::optional<Instant> onset;  // the first landing of the trial
  int64_t high_water_at_onset = -1;
  TimePoint undisturbed_since{};  // recovery is looked for after this: the onset, or the end of a held fault
  bool detected = false;
  bool recovered = false;
  TimePoint settled_at{};  // since when nothing more is awaited
  std::string invalid;     // why the trial is worth nothing; "" = it is valid

  bool aborting = false;
  std::string abort_reason;
  std::string broken;  // why the run cannot go on
};

}  // namespace triodrill::conduct
