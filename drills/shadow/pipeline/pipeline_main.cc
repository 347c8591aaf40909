// triodrill-pipeline: the reference fault-tolerance pipeline of the embedded shadow partition. See drills/README.md.
#include <iostream>

#include "drills/shadow/pipeline/options.h"
#include "drills/shadow/pipeline/server.h"
#include "drills/shadow/system_clock.h"

int main(int argc, char** argv) {
  using namespace triodrill;                    // NOLINT(google-build-using-namespace)
  using namespace triodrill::shadow::pipeline;  // NOLINT(google-build-using-namespace)
  Loaded loaded = LoadOptions(argc, argv, /*launcher=*/false);
  if (!loaded.problem.empty()) std::cerr << "triodrill-pipeline: error: " << loaded.problem << "\n";
  if (loaded.done || loaded.code != ExitCode::kPassed) return static_cast<int>(loaded.code);
  shadow::SystemClock clock;
  Server server(std::move(loaded.config), clock);
  const Status status = server.Run();
  if (status.ok()) return 0;
  std::cerr << "triodrill-pipeline: error: " << status.message() << "\n";
  return static_cast<int>(ExitCode::kUnreachable);
}
