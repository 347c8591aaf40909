// triodrill-shadow: keeps one embedded shadow partition up, in the foreground. See drills/README.md.
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "drills/shadow/supervisor.h"
#include "drills/shadow/system_clock.h"
#include "drills/shadow/whole_file.h"
#include "google/protobuf/util/json_util.h"
#include "triodrill/exit_code.h"
#include "triodrill/text.h"
#include "triodrill/v1/shadow.pb.h"

extern char** environ;

namespace triodrill::shadow {
namespace {

Result<v1::ShadowSpec> ReadSpec(const std::string& file) {
  const Result<std::string> text = ReadWholeFile(file);
  if (!text.ok()) return absl::InvalidArgumentError(Cat("specification: ", std::string(text.status().message())));
  v1::ShadowSpec spec;
  const auto parsed = google::protobuf::util::JsonStringToMessage(*text, &spec);
  if (!parsed.ok())
    return absl::InvalidArgumentError(Cat("read specification ", file, ": ", std::string(parsed.message())));
  return spec;
}

std::vector<std::string> Environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Keeps an embedded shadow partition up, in the foreground, until SIGTERM or a {\"do\":\"down\"} on "
      "STATE/shadow.sock.");
  app.set_version_flag("--version", TRIODRILL_VERSION);
  app.require_subcommand(1);
  CLI::App* up =
      app.add_subcommand("up",
                         "Build the sandbox, start its agents, serve STATE/shadow.sock. Exit: 0 taken down, "
                         "3 refused (one is up already), 65 invalid file, 69 could not be built, 70 not clean.");
  std::string spec_file;
  SupervisorOptions options;
  up->add_option("--spec", spec_file, "Specification: JSON of triodrill.v1.ShadowSpec")->required();
  up->add_flag("--workload", options.start_workload, "Start the workload too");
  up->add_option("--die-with-parent", options.parent, "Go down when this process, our parent, ends")->type_name("PID");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  const Result<v1::ShadowSpec> spec = ReadSpec(spec_file);
  if (!spec.ok()) {
    std::cerr << "triodrill-shadow: error: " << spec.status().message() << "\n";
    return static_cast<int>(ExitCode::kInvalidFile);
  }
  SystemClock clock;
  Supervisor supervisor(*spec, Environment(), options, clock);
  return static_cast<int>(supervisor.Run());
}

}  // namespace
}  // namespace triodrill::shadow

int main(int argc, char** argv) { return triodrill::shadow::Main(argc, argv); }
