// triodrill-node: the launcher of one node of the embedded shadow partition. See drills/README.md.
#include <iostream>

#include "drills/shadow/pipeline/launcher.h"
#include "drills/shadow/pipeline/options.h"
#include "drills/shadow/system_clock.h"

int main(int argc, char** argv) {
  using namespace triodrill;                    // NOLINT(google-build-using-namespace)
  using namespace triodrill::shadow::pipeline;  // NOLINT(google-build-using-namespace)
  Loaded loaded = LoadOptions(argc, argv, /*launcher=*/true);
  if (!loaded.problem.empty()) std::cerr << "triodrill-node: error: " << loaded.problem << "\n";
  if (loaded.done || loaded.code != ExitCode::kPassed) return static_cast<int>(loaded.code);
  shadow::SystemClock clock;
  Launcher launcher(loaded.options, std::move(loaded.config), clock);
  const Status status = launcher.Run();
  if (status.ok()) return 0;
  std::cerr << "triodrill-node: error: " << status.message() << "\n";
  return static_cast<int>(absl::IsInvalidArgument(status) ? ExitCode::kUsage : ExitCode::kUnreachable);
}
