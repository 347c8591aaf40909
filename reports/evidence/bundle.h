// A run's bundle: the directory with everything that its verdict rests on.
//
//   INCOMPLETE       there from the first instant until Complete(): a crash leaves a bundle that says so
//   inputs/          drill.yaml, partition.yaml, pipeline.yaml as given
//   plan.json        the plan; its SHA-256 is RunStarted.plan_digest
//   timeline.jsonl   the facts (timeline.h)
//   raw/             copies of the logs that were read
//   trio.json verdict.json report.md   derived from plan.json and timeline.jsonl alone (derive.h)
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "reports/evidence/timeline.h"
#include "triodrill/status.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

inline constexpr std::string_view kTimelineFile = "timeline.jsonl";
inline constexpr std::string_view kPlanFile = "plan.json";
inline constexpr std::string_view kTrioFile = "trio.json";
inline constexpr std::string_view kVerdictFile = "verdict.json";
inline constexpr std::string_view kReportFile = "report.md";
inline constexpr std::string_view kIncompleteFile = "INCOMPLETE";
inline constexpr std::string_view kDrillFile = "inputs/drill.yaml";

// The bundle while it is being written. A value: holds paths only, no descriptors.
class Bundle {
 public:
  // Makes the directory (and its parents) and proves, before anything is broken, that it can be written and has room.
  // Refuses a directory with anything in it. Errors name the directory and what to do.
  static Result<Bundle> Create(const std::string& directory);

  const std::string& directory() const { return directory_; }
  std::string Path(std::string_view relative) const;
  std::string timeline_path() const { return Path(kTimelineFile); }

  // Atomic. `relative` stays inside the bundle ("raw/n0.log"); missing directories are made.
  Status WriteFile(std::string_view relative, std::string_view bytes) const;
  // plan.json. Returns the SHA-256 of its bytes: the plan's digest.
  Result<std::string> WritePlan(const v1::Plan& plan) const;
  // Takes INCOMPLETE away. The last thing that is done to a bundle.
  Status Complete() const;

 private:
  explicit Bundle(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

// The bytes of plan.json, and their digest.
std::string PlanBytes(const v1::Plan& plan);
std::string PlanDigest(const v1::Plan& plan);

// What a bundle says, read back. The derived files are as they stand in the directory; "" where there is none.
struct LoadedBundle {
  std::string directory;  // or archive, as it was named
  bool complete = false;  // INCOMPLETE is gone and the timeline ends with RunEnded
  std::string problem;    // why it is not complete
  v1::Plan plan;
  Timeline timeline;
  std::string timeline_head;  // SHA-256 of its last line, as the signed statement has it
  std::string trio_json;
  std::string verdict_json;
  std::string report_md;
  std::string drill_yaml;
};

// From a directory or an archive (archive.h). Refuses a plan that does not have the digest which the timeline says.
Result<LoadedBundle> LoadBundle(const std::string& named);

}  // namespace triodrill
