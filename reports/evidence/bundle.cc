#include "reports/evidence/bundle.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "reports/evidence/archive.h"
#include "reports/evidence/files.h"
#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

namespace fs = std::filesystem;

constexpr size_t kProbeBytes = size_t{1} << 20;
constexpr std::string_view kIncompleteText =
    "This bundle is being written, or its writer died. What is in it is evidence of an unfinished run.\n";

Status DirectoryError(const char* what, const std::string& directory, const std::string& why) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, " ", directory, ": ", why, "; give --out a new directory on a disk with room"));
}

bool StaysInside(std::string_view relative) {
  const fs::path path(relative);
  if (relative.empty() || path.is_absolute()) return false;
  for (const fs::path& part : path) {
    if (part == "..") return false;
  }
  return true;
}

// "" if there is none; anything but "not there" is an error.
Result<std::string> ReadIfThere(const std::string& path) {
  Result<std::string> bytes = ReadWholeFile(path);
  if (!bytes.ok() && absl::IsNotFound(bytes.status())) return std::string();
  return bytes;
}

// Empty if there is no RunStarted.
std::string SaidDigest(const Timeline& timeline) {
  for (const v1::Fact& fact : timeline.facts) {
    if (fact.has_run_started()) return fact.run_started().plan_digest();
  }
  return "";
}

}  // namespace

Result<Bundle> Bundle::Create(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return DirectoryError("make bundle", directory, error.message());
  if (!fs::is_directory(directory, error)) return DirectoryError("make bundle", directory, "not a directory");
  const bool empty = fs::is_empty(directory, error);
  if (error) return DirectoryError("look into", directory, error.message());
  if (!empty) return DirectoryError("make bundle", directory, "there is something in it already");
  Bundle bundle(fs::path(directory).lexically_normal().string());
  const std::string probe = bundle.Path("probe");
  const Status written = WriteWholeFile(probe, std::string(kProbeBytes, 'x'));
  ::unlink(probe.c_str());
  if (!written.ok()) return DirectoryError("write into", directory, std::string(written.message()));
  TRIODRILL_RETURN_IF_ERROR(bundle.WriteFile(kIncompleteFile, kIncompleteText));
  for (const char* inner : {"inputs", "raw"}) {
    fs::create_directory(bundle.Path(inner), error);
    if (error) return DirectoryError("make bundle", bundle.Path(inner), error.message());
  }
  return bundle;
}

std::string Bundle::Path(std::string_view relative) const { return (fs::path(directory_) / relative).string(); }

Status Bundle::WriteFile(std::string_view relative, std::string_view bytes) const {
  if (!StaysInside(relative)) {
    return absl::InvalidArgumentError(
        absl::StrCat("write ", std::string(relative), ": a file of a bundle stays inside it"));
  }
  const std::string path = Path(relative);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return absl::FailedPreconditionError(absl::StrCat("make directory of ", path, ": ", error.message()));
  return WriteWholeFile(path, bytes);
}

Result<std::string> Bundle::WritePlan(const v1::Plan& plan) const {
  const std::string bytes = PlanBytes(plan);
  TRIODRILL_RETURN_IF_ERROR(WriteFile(kPlanFile, bytes));
  return Sha256Hex(bytes);
}

Status Bundle::Complete() const {
  const std::string marker = Path(kIncompleteFile);
  if (::unlink(marker.c_str()) != 0) return ErrnoStatus("complete bundle: remove", marker);
  return Ok();
}

std::string PlanBytes(const v1::Plan& plan) { return ToPrettyJson(plan); }
std::string PlanDigest(const v1::Plan& plan) { return Sha256Hex(PlanBytes(plan)); }

Result<LoadedBundle> LoadBundle(const std::string& named) {
  TRIODRILL_ASSIGN_OR_RETURN(const BundleSource source, BundleSource::Open(named));
  LoadedBundle bundle;
  bundle.directory = named;
  const auto path = [&](std::string_view file) { return (fs::path(source.directory()) / file).string(); };
  TRIODRILL_ASSIGN_OR_RETURN(const std::string plan, ReadWholeFile(path(kPlanFile)));
  if (Status read = FromJson(plan, bundle.plan); !read.ok()) {
    return absl::DataLossError(absl::StrCat(path(kPlanFile), ": ", read.message()));
  }
  TRIODRILL_ASSIGN_OR_RETURN(bundle.timeline, ReadTimeline(path(kTimelineFile), &bundle.timeline_head));
  const std::string said = SaidDigest(bundle.timeline);
  if (!said.empty() && said != Sha256Hex(plan)) {
    return absl::DataLossError(absl::StrCat(path(kPlanFile), ": digest ", Sha256Hex(plan),
                                            ", but the timeline was written under ", said,
                                            "; the plan was changed after the run"));
  }
  std::error_code error;
  const bool marked = fs::exists(path(kIncompleteFile), error);
  bundle.complete = !marked && !error && bundle.timeline.complete;
  if (!bundle.complete) {
    bundle.problem = !bundle.timeline.complete ? bundle.timeline.problem : "the file INCOMPLETE is still there";
  }
  TRIODRILL_ASSIGN_OR_RETURN(bundle.trio_json, ReadIfThere(path(kTrioFile)));
  TRIODRILL_ASSIGN_OR_RETURN(bundle.verdict_json, ReadIfThere(path(kVerdictFile)));
  TRIODRILL_ASSIGN_OR_RETURN(bundle.report_md, ReadIfThere(path(kReportFile)));
  TRIODRILL_ASSIGN_OR_RETURN(bundle.drill_yaml, ReadIfThere(path(kDrillFile)));
  return bundle;
}

}  // namespace triodrill
