#include "coordinator/engines/programs.h"

#include <filesystem>
#include <system_error>

#include "triodrill/text.h"

namespace triodrill::engines {

namespace {

// As it is installed, or else as it is built.
std::string StandIn(const std::filesystem::path& bin, const char* name) {
  const std::filesystem::path installed = bin / ".." / TRIODRILL_LIBDIR / "triodrill/shadow-gpu" / name;
  std::error_code error;
  const bool there = std::filesystem::exists(installed, error);
  return (there ? installed : bin / "../shadow-gpu" / name).lexically_normal().string();
}

}  // namespace

Result<Programs> FindPrograms() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::UnavailableError(Cat("find our own program: read /proc/self/exe: ", error.message()));
  return FindProgramsIn(self.parent_path().string());
}

Result<Programs> FindProgramsIn(const std::string& bin_dir) {
  const std::filesystem::path bin(bin_dir);
  const std::filesystem::path choices[] = {bin / "../share/triodrill", bin / "../../../drills"};
  for (const std::filesystem::path& choice : choices) {
    std::error_code error;
    if (!std::filesystem::is_directory(choice / "shadow", error)) continue;
    const std::filesystem::path data = std::filesystem::canonical(choice, error);
    if (error) continue;
    return Programs{.shadow = (bin / "triodrill-shadow").string(),
                    .agent = (bin / "triodrilld").string(),
                    .undo = (bin / "triodrill-undo").string(),
                    .gpu_state = (bin / "triodrill-gpu-state").string(),
                    .webhook = (bin / "triodrill-webhook").string(),
                    .nvml = StandIn(bin, "libnvidia-ml.so.1"),
                    .cuda = StandIn(bin, "libcuda.so.1"),
                    .bin_dir = bin.string(),
                    .data_dir = data.string()};
  }
  return absl::NotFoundError(Cat("find the data of triodrill: neither ", choices[0].lexically_normal().string(),
                                 " nor ", choices[1].lexically_normal().string(),
                                 " is there; install it, or run it from its build directory"));
}

}  // namespace triodrill::engines
