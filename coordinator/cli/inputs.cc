#include "coordinator/cli/inputs.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/engines/state_dir.h"
#include "coordinator/load/read.h"

namespace triodrill::cli {
namespace {

template <typename T>
using Loader = Loaded<T> (*)(std::string_view, std::string_view, std::vector<Diagnostic>&);

template <typename T>
std::optional<Loaded<T>> ReadAndLoad(const std::string& path, Loader<T> load, ExitCode& exit_code) {
  std::vector<Diagnostic> problems;
  const std::optional<std::string> text = ReadYamlFile(path, problems);
  std::optional<Loaded<T>> loaded;
  if (text) loaded = load(*text, path, problems);
  if (problems.empty()) return loaded;
  std::fputs(Text(problems).c_str(), stderr);
  exit_code = ExitCode::kInvalidFile;
  return std::nullopt;
}

constexpr char kDefaultPipeline[] = "reference";
constexpr char kDefaultPartition[] = "embedded";

// A path as it is; a plain name means the profile that is shipped under it.
std::string ProfilePath(const std::string& data, const std::string& folder, const std::string& given) {
  const bool name = given.find('/') == std::string::npos && !given.ends_with(".yaml");
  return name ? absl::StrCat(data, "/", folder, "/", given, ".yaml") : given;
}

// A pipeline that is shipped with a partition of its own name runs there; every other on three plain nodes.
std::string DefaultPartition(const std::string& data, const std::string& pipeline) {
  const std::string own = ProfilePath(data, "partitions", std::filesystem::path(pipeline).stem().string());
  return std::filesystem::exists(own) ? own : ProfilePath(data, "partitions", kDefaultPartition);
}

}  // namespace

void PrintError(const std::string& what) { std::fprintf(stderr, "triodrill: error: %s\n", what.c_str()); }

ExitCode CodeOf(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kPassed;
    case absl::StatusCode::kFailedPrecondition:
      return ExitCode::kRefused;
    case absl::StatusCode::kCancelled:
      return ExitCode::kAborted;
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kInvalidFile;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kUnreachable;
    default:
      return ExitCode::kInternal;
  }
}

std::optional<Loaded<v1::Drill>> ReadDrill(const std::string& path, ExitCode& exit_code) {
  return ReadAndLoad<v1::Drill>(path, &LoadDrill, exit_code);
}

void Override(v1::Drill& drill, const Often& often) {
  v1::Trials& trials = *drill.mutable_spec()->mutable_trials();
  if (often.trials >= 0) trials.set_faulted(often.trials);
  if (often.sham >= 0) trials.set_sham(often.sham);
  if (often.seed >= 0) trials.set_seed(static_cast<uint64_t>(often.seed));
}

std::optional<Profiles> LoadProfiles(const Where& where, ExitCode& exit_code) {
  Profiles profiles;
  Result<engines::Programs> programs = engines::FindPrograms();
  if (!programs.ok()) {
    PrintError(std::string(programs.status().message()));
    exit_code = ExitCode::kInternal;
    return std::nullopt;
  }
  profiles.programs = *std::move(programs);
  const std::string& data = profiles.programs.data_dir;
  const std::string pipeline =
      ProfilePath(data, "pipelines", where.pipeline.empty() ? std::string(kDefaultPipeline) : where.pipeline);
  const std::string partition =
      where.partition.empty() ? DefaultPartition(data, pipeline) : ProfilePath(data, "partitions", where.partition);
  std::optional<Loaded<v1::Partition>> loaded_partition =
      ReadAndLoad<v1::Partition>(partition, &LoadPartition, exit_code);
  std::optional<Loaded<v1::Pipeline>> loaded_pipeline = ReadAndLoad<v1::Pipeline>(pipeline, &LoadPipeline, exit_code);
  if (!loaded_partition || !loaded_pipeline) return std::nullopt;
  profiles.partition = *std::move(loaded_partition);
  profiles.pipeline = *std::move(loaded_pipeline);
  profiles.state_dir = where.state_dir.empty() ? engines::DefaultStateDir(profiles.partition.message.metadata().name())
                                               : std::filesystem::absolute(where.state_dir).lexically_normal().string();
  return profiles;
}

}  // namespace triodrill::cli
