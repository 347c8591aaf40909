// Planted defects of the reference pipeline, by name: each turns one decision of the core wrong, in one place, so that
// a drill can be seen to tell a sick pipeline from a sound one. None is active unless it is named on the command line.
#pragma once

#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace triodrill::shadow::pipeline {

enum class Defect {
  kNone,
  kSingleSignal,
  kDeafHeartbeat,
  kSilentHang,
  kGlobalRestart,
  kWrongNode,
  kOverEvict,
  kSameNodeAgain,
  kSpareRace,
  kStaleLatest,
  kUnverifiedCheckpoint,
  kNoBounds,
  kRestartFromZero,
  kSlowRestore,
  kSdcBlind,
  kDriftAlarm,
  kReplayStaleEvent,
};

// "" is kNone. The error of an unknown name lists those that are known.
Result<Defect> ParseDefect(std::string_view name);

// One line a defect: its name and a sentence; for `--defect list`.
std::string DescribeDefects();

}  // namespace triodrill::shadow::pipeline
