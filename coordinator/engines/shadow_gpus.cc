#include "coordinator/engines/shadow_gpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "coordinator/engines/state_dir.h"
#include "coordinator/os/child_process.h"
#include "coordinator/os/clock.h"
#include "triodrill/schema/json.h"
#include "triodrill/text.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill::engines {
namespace {

constexpr std::chrono::seconds kMadeWithin{20};

Status Link(const std::string& to, const std::string& from) {
  std::error_code error;
  std::filesystem::remove(from, error);
  std::filesystem::create_symlink(to, from, error);
  if (error) return absl::UnavailableError(Cat("link ", from, " to ", to, ": ", error.message()));
  return Ok();
}

}  // namespace

std::string NvmlLink(const std::string& state_dir, std::string_view node) {
  return NodeDir(state_dir, node) + "/nvml/libnvidia-ml.so.1";
}

std::string KernelLogFile(const std::string& state_dir, std::string_view node) {
  return Cat(RunDir(state_dir), "/kmsg-", node, ".log");
}

Status MakeShadowGpus(const Programs& programs, const v1::ShadowSpec& spec, const std::string& state_dir) {
  if (spec.partition().empty()) return Ok();  // nodes of which no slots are known
  v1::Partition partition;
  TRIODRILL_RETURN_IF_ERROR(FromJson(spec.partition(), partition));
  coordinator::SystemClock clock;
  for (const v1::Node& node : partition.spec().nodes()) {
    const std::string log = KernelLogFile(state_dir, node.name());
    if (!std::ofstream(log, std::ios::trunc)) return absl::UnavailableError(Cat("make the kernel log ", log));
    const std::string state = Cat(RunDir(state_dir), "/gpu-", node.name(), ".state");
    const std::string slots = std::to_string(std::max(1, node.slots()));
    TRIODRILL_ASSIGN_OR_RETURN(
        const coordinator::Finished made,
        coordinator::RunToEnd({programs.gpu_state, "make", state, "--gpus", slots, "--node", node.name()}, clock,
                              kMadeWithin));
    if (made.exit_code != 0) {
      return absl::UnavailableError(Cat("make the shadow GPUs of ", node.name(), ": ", programs.gpu_state,
                                        " ended with ", made.exit_code, ": ", made.output));
    }
    const std::string library = NvmlLink(state_dir, node.name());
    const std::filesystem::path folder = std::filesystem::path(library).parent_path();
    std::error_code error;
    std::filesystem::create_directory(folder, error);
    if (error) return absl::UnavailableError(Cat("make directory ", folder.string(), ": ", error.message()));
    TRIODRILL_RETURN_IF_ERROR(Link(programs.nvml, library));
    TRIODRILL_RETURN_IF_ERROR(Link(programs.cuda, (folder / "libcuda.so.1").string()));
    TRIODRILL_RETURN_IF_ERROR(Link(state, (folder / "gpu.state").string()));
  }
  return Ok();
}

}  // namespace triodrill::engines
