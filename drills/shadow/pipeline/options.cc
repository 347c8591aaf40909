#include "drills/shadow/pipeline/options.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "CLI/CLI.hpp"
#include "drills/shadow/pipeline/run_files.h"
#include "drills/shadow/whole_file.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

std::string Absolute(const std::string& path) {
  std::error_code ignored;
  return path.empty() ? path : std::filesystem::absolute(path, ignored).string();
}

Loaded Refuse(Loaded loaded, ExitCode code, const Status& status) {
  loaded.code = code;
  loaded.problem = std::string(status.message());
  return loaded;
}

Result<std::string> ReadGiven(const std::string& path) {
  Result<std::string> text = ReadWholeFile(path);
  if (text.ok()) return text;
  return absl::Status(text.status().code(),
                      Cat(path, ":1:1: error: cannot be read: ", std::string(text.status().message()),
                          "; hint: give the path of a file"));
}

Loaded LoadFiles(Loaded loaded) {
  Options& options = loaded.options;
  const Result<Defect> defect = ParseDefect(options.defect);
  if (!defect.ok()) return Refuse(std::move(loaded), ExitCode::kUsage, defect.status());
  for (std::string* path : {&options.run_dir, &options.partition_file, &options.policy_file}) *path = Absolute(*path);
  const Result<std::string> partition = ReadGiven(options.partition_file);
  if (!partition.ok()) return Refuse(std::move(loaded), ExitCode::kInvalidFile, partition.status());
  Result<Topology> topology = ParseTopology(*partition, options.partition_file);
  if (!topology.ok()) return Refuse(std::move(loaded), ExitCode::kInvalidFile, topology.status());
  const Result<std::string> text = ReadGiven(options.policy_file);
  if (!text.ok()) return Refuse(std::move(loaded), ExitCode::kInvalidFile, text.status());
  Result<Policy> policy = ParsePolicy(*text, options.policy_file);
  if (!policy.ok()) return Refuse(std::move(loaded), ExitCode::kInvalidFile, policy.status());
  policy->defect = *defect;
  if (chdir(options.run_dir.c_str()) != 0) {
    return Refuse(std::move(loaded), ExitCode::kInvalidFile,
                  ErrnoStatus("change into the run directory", options.run_dir));
  }
  loaded.config = Config{*std::move(topology), *std::move(policy), options.run_dir};
  return loaded;
}

}  // namespace

Loaded LoadOptions(int argc, char** argv, bool launcher) {
  Loaded loaded;
  Options& options = loaded.options;
  CLI::App app(launcher ? "Starts the trainers of one node of the embedded shadow partition, as the pipeline orders."
                        : "The reference fault-tolerance pipeline of the embedded shadow partition.");
  app.set_version_flag("--version", TRIODRILL_VERSION);
  if (launcher) {
    app.add_option("--node", options.node, "Name of this node")->required();
    app.add_option("--first", options.first_node, "The node on which the pipeline runs, too")->required();
    app.add_option("--address", options.address, "This node's address on the data network")->required();
  }
  app.add_option("--run-dir", options.run_dir, "Directory of the run, the same for all nodes")->required();
  app.add_option("--partition", options.partition_file, "JSON of triodrill.v1.Partition")->required();
  app.add_option("--policy", options.policy_file, "YAML of kind ShadowPolicy")->required();
  app.add_option("--defect", options.defect, "Plant this defect; \"list\" shows them")
      ->envname("TRIODRILL_SHADOW_DEFECT");
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) != "--defect" || std::string_view(argv[i + 1]) != "list") continue;
    std::cout << DescribeDefects();
    loaded.done = true;
    return loaded;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    loaded.done = app.exit(error) == 0;
    loaded.code = loaded.done ? ExitCode::kPassed : ExitCode::kUsage;
    return loaded;
  }
  return LoadFiles(std::move(loaded));
}

}  // namespace triodrill::shadow::pipeline
