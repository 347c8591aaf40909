#include "drills/shadow/trainer/options.h"

#include <iostream>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "drills/shadow/protocol/messages.h"
#include "triodrill/exit_code.h"
#include "triodrill/schema/units.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

struct Texts {
  std::string rank;
  std::string step_compute = "40ms";
  std::string heartbeat = "100ms";
  std::string checks = "none";
};

Status Complete(const Texts& texts, Options& options) {
  const Layout& layout = options.layout;
  if (!layout.Valid()) {
    return absl::InvalidArgumentError(Cat("--world ", layout.world, " --tensor-parallel ", layout.tensor_parallel,
                                          ": the second must divide the first and ", kHidden));
  }
  if (options.reference) {
    if (options.steps < 1 || options.every < 1) {
      return absl::InvalidArgumentError("--reference: needs --steps and --every of at least 1");
    }
    return Ok();
  }
  if (texts.rank != kStandbyRank &&
      (!absl::SimpleAtoi(texts.rank, &options.rank) || options.rank < 0 || options.rank >= layout.world)) {
    return absl::InvalidArgumentError(
        Cat("--rank ", texts.rank, ": not in 0~", layout.world - 1, ", and not ", kStandbyRank));
  }
  if (options.node.empty() || options.address.empty() || options.run_dir.empty()) {
    return absl::InvalidArgumentError("--node, --address and --run-dir are needed");
  }
  if (options.checkpoint_every < 1 || options.keep < 1) {
    return absl::InvalidArgumentError("--checkpoint-every and --keep: at least 1");
  }
  TRIODRILL_ASSIGN_OR_RETURN(options.step_compute, ParseDuration(texts.step_compute));
  TRIODRILL_ASSIGN_OR_RETURN(options.heartbeat, ParseDuration(texts.heartbeat));
  if (options.heartbeat < std::chrono::milliseconds(1)) {
    return absl::InvalidArgumentError("--heartbeat: at least 1ms");
  }
  TRIODRILL_ASSIGN_OR_RETURN(options.checks, ParseChecks(texts.checks));
  return Ok();
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  Texts texts;
  CLI::App app(
      "One rank of the embedded shadow partition's training job. It is started by the node's launcher with its end of "
      "a "
      "SOCK_SEQPACKET pair as descriptor 3, obeys the orders that come there, and ends when it closes.");
  app.set_version_flag("--version", TRIODRILL_VERSION);
  app.add_option("--rank", texts.rank, "Global rank, or \"standby\": it comes with the first order to join");
  app.add_option("--local-rank", options.local_rank, "Rank on its node");
  app.add_option("--world", options.layout.world, "Number of ranks")->required();
  app.add_option("--tensor-parallel", options.layout.tensor_parallel, "Ranks that share one replica");
  app.add_option("--node", options.node, "Name of the node");
  app.add_option("--address", options.address, "Address that the collectives are bound to");
  app.add_option("--run-dir", options.run_dir, "Logs and checkpoints, the same for all ranks");
  app.add_option("--seed", options.seed, "Of weights and data");
  app.add_option("--step-compute", texts.step_compute, "How long the simulated kernel of a step takes at full clock");
  app.add_option("--gpu-state", options.gpu_state, "File of the node's shadow GPUs, whose clock the kernel obeys");
  app.add_option("--gpu", options.gpu, "Which of them");
  app.add_option("--checkpoint-every", options.checkpoint_every, "Steps");
  app.add_option("--keep", options.keep, "Checkpoints kept");
  app.add_option("--heartbeat", texts.heartbeat, "Period");
  app.add_option("--checks", texts.checks,
                 "gradient_hash,state_hash,norm,collective_checksum,replay:STEPS,peer_replay:STEPS,abft or none");
  app.add_flag("--reference", options.reference, "Print the states of a fault-free run, made in this process, and end");
  app.add_option("--steps", options.steps, "With --reference: how many");
  app.add_option("--every", options.every, "With --reference: print every so many");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  if (const Status complete = Complete(texts, options); !complete.ok()) {
    std::cerr << "triodrill-trainer: error: " << complete.message() << "\n";
    return static_cast<int>(ExitCode::kUsage);
  }
  return options;
}

}  // namespace triodrill::shadow::trainer
