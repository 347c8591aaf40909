// The embedded partition in a state directory of the test's own, driven through `triodrill`; and what the machine looks
// like, to compare before and after.
#pragma once

#include <dirent.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sanitizer_reports.h"

namespace triodrill::testing {

// What a drill could leave behind on the host: processes of ours, network interfaces, mounts, cgroups of ours.
struct HostState {
  std::set<std::string> programs, interfaces, mounts, cgroups;
  friend bool operator==(const HostState&, const HostState&) = default;
};

inline std::set<std::string> Names(const std::string& directory) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// Command lines of processes that name `mark` (a state directory): everything of one sandbox does.
inline std::set<std::string> ProgramsOf(const std::string& mark) {
  std::set<std::string> found;
  for (const std::string& name : Names("/proc")) {
    if (name.find_first_not_of("0123456789") != std::string::npos || name == std::to_string(getpid())) continue;
    const std::string line = Slurp("/proc/" + name + "/cmdline");
    const std::string environment = Slurp("/proc/" + name + "/environ");
    const bool ours = absl::StrContains(line, mark) || absl::StrContains(environment, mark);
    if (ours) found.insert(absl::StrCat(name, " ", line));
  }
  return found;
}

inline HostState LookAtHost(const std::string& mark) {
  HostState state;
  state.programs = ProgramsOf(mark);
  state.interfaces = Names("/sys/class/net");
  for (const auto line : absl::StrSplit(Slurp("/proc/self/mounts"), '\n')) state.mounts.insert(std::string(line));
  std::error_code error;
  for (const char* root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    for (const std::string& name : Names(root)) {
      if (absl::StrContains(name, "triodrill")) state.cgroups.insert(std::string(root) + "/" + name);
    }
  }
  return state;
}

class Partition {
 public:
  std::unique_ptr<Program> Start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRIODRILL_BIN_DIR "/triodrill");
    const std::string name = std::to_string(++count_);
    return std::make_unique<Program>(std::move(arguments), dir_ / (name + ".out"), dir_ / (name + ".err"));
  }
  // Of a drill in the library (or of a file), against one of the pipelines that are shipped.
  std::unique_ptr<Program> StartRun(const std::string& drill, std::vector<std::string> more,
                                    const std::string& pipeline = "torchrun") {
    const std::string library = TRIODRILL_SOURCE_DIR "/drills/library/";
    std::vector<std::string> arguments{
        "run", drill.front() == '/' ? drill : library + drill, "--pipeline", pipeline, "--state-dir", state_dir()};
    for (std::string& argument : more) arguments.push_back(std::move(argument));
    return Start(std::move(arguments));
  }
  std::string state_dir() const { return dir_ / "s"; }
  std::string Path(const std::string& name) const { return dir_ / name; }

 private:
  TempDir dir_;
  SanitizerReports reports_{dir_ / "sanitizer"};
  int count_ = 0;
};

// Lines of `path` that hold `text`; the file may be growing.
inline int CountLines(const std::string& path, const std::string& text) {
  int count = 0;
  for (const auto line : absl::StrSplit(Slurp(path), '\n')) count += absl::StrContains(line, text) ? 1 : 0;
  return count;
}

}  // namespace triodrill::testing
