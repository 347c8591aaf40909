// triodrill-gpu-state: makes a node's shadow GPUs, shows them, and does to them what only hardware can. See
// drills/README.md.
#include <iostream>
#include <nlohmann/json.hpp>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "drills/shadow/gpu/fields.h"
#include "drills/shadow/gpu/reading.h"
#include "drills/shadow/gpu/state_file.h"
#include "triodrill/exit_code.h"
#include "triodrill/text.h"

namespace triodrill::shadow::gpu {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string file;
  Making making;
  bool replace = false;
  bool json = false;
  int gpu = 0;
  std::vector<std::string> assignments;
};

Json Of(const Reading& reading) {
  Json json{{"gpu", reading.index},
            {"uuid", reading.uuid},
            {"name", reading.name},
            {"bus_id", reading.bus_id},
            {"lost", reading.lost},
            {"sm_mhz", reading.now.sm_mhz},
            {"max_sm_mhz", reading.max_sm_mhz},
            {"memory_mhz", reading.now.memory_mhz},
            {"locked_sm_mhz", nullptr},
            {"power_mw", reading.now.power_mw},
            {"power_limit_mw", reading.limit_mw},
            {"reasons", reading.now.reasons},
            {"temperature_c", reading.temperature_c},
            {"utilization", reading.utilization}};
  if (reading.locked_max_mhz != 0) json["locked_sm_mhz"] = {reading.locked_min_mhz, reading.locked_max_mhz};
  json["ecc"] = {{"sbe_volatile", reading.ecc[0][0]},
                 {"sbe_aggregate", reading.ecc[0][1]},
                 {"dbe_volatile", reading.ecc[1][0]},
                 {"dbe_aggregate", reading.ecc[1][1]}};
  json["rows"] = {{"correctable", reading.rows[kRowsCorrectable]},
                  {"uncorrectable", reading.rows[kRowsUncorrectable]},
                  {"pending", reading.rows[kRowsPending]},
                  {"failure", reading.rows[kRowsFailure]}};
  json["nvlink"] = {{"crc_flit", reading.nvlink[kLinkCrcFlit]},
                    {"crc_data", reading.nvlink[kLinkCrcData]},
                    {"replay", reading.nvlink[kLinkReplay]},
                    {"recovery", reading.nvlink[kLinkRecovery]}};
  json["xid"] = {{"last", reading.xid}, {"count", reading.xid_count}};
  json["processes"] = reading.processes;
  return json;
}

Status Show(const Arguments& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const MappedState state, MappedState::Open(arguments.file, false));
  const std::vector<Reading> readings = ReadAll(*state);
  if (arguments.json) {
    Json all{
        {"simulated", true}, {"deny_set", state->deny_set.load() != 0}, {"old_driver", state->old_driver.load() != 0}};
    for (const Reading& reading : readings) all["gpus"].push_back(Of(reading));
    std::cout << all.dump(2) << "\n";
    return Ok();
  }
  for (const Reading& one : readings) {
    const std::string lock = one.locked_max_mhz == 0 ? "no lock" : Cat("lock ", one.locked_max_mhz, " MHz");
    std::cout << absl::StrFormat("%d %s %s: %s%d/%d MHz, %s, %.0f/%.0f W, reasons 0x%x, %d C, ECC %d/%d, XID %d (%d)\n",
                                 one.index, one.uuid, one.bus_id, one.lost ? "LOST, " : "", one.now.sm_mhz,
                                 one.max_sm_mhz, lock, one.now.power_mw / 1000.0, one.limit_mw / 1000.0,
                                 one.now.reasons, one.temperature_c, one.ecc[0][0], one.ecc[1][0], one.xid,
                                 one.xid_count);
  }
  return Ok();
}

Status Set(const Arguments& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const MappedState state, MappedState::Open(arguments.file, true));
  for (const std::string& assignment : arguments.assignments) {
    TRIODRILL_RETURN_IF_ERROR(SetField(*state, arguments.gpu, assignment));
  }
  return Ok();
}

ExitCode CodeOf(const Status& status) {
  if (status.ok()) return ExitCode::kPassed;
  if (absl::IsInvalidArgument(status)) return ExitCode::kUsage;
  if (absl::IsDataLoss(status) || absl::IsNotFound(status)) return ExitCode::kInvalidFile;
  return ExitCode::kInternal;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  Status status;
  CLI::App app("The shadow GPUs of one node: made, shown, and broken as hardware breaks.");
  app.set_version_flag("--version", TRIODRILL_VERSION);
  app.require_subcommand(1);
  CLI::App* const make = app.add_subcommand("make", "Make the state file");
  make->add_option("file", arguments.file, "State file")->required();
  make->add_option("--gpus", arguments.making.gpus, "How many")->required();
  make->add_option("--seed", arguments.making.seed, "Of the UUIDs");
  make->add_option("--node", arguments.making.node, "Name of the node; of the UUIDs, too");
  make->add_flag("--replace", arguments.replace, "Even if there is one; who has mapped the old one keeps that");
  make->callback([&] { status = MakeState(arguments.file, arguments.making, arguments.replace); });
  CLI::App* const show = app.add_subcommand("show", "Show them");
  show->add_option("file", arguments.file, "State file")->required();
  show->add_flag("--json", arguments.json, "As one JSON object");
  show->callback([&] { status = Show(arguments); });
  CLI::App* const set = app.add_subcommand("set", "Do what hardware does");
  set->footer("Fields:\n" + DescribeFields());
  set->add_option("file", arguments.file, "State file")->required();
  set->add_option("--gpu", arguments.gpu, "Which")->required();
  set->add_option("assignment", arguments.assignments, "FIELD=VALUE; FIELD+=VALUE for counters")->required();
  set->callback([&] { status = Set(arguments); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  if (!status.ok()) std::cerr << Cat("triodrill-gpu-state: error: ", std::string(status.message()), "\n");
  return static_cast<int>(CodeOf(status));
}

}  // namespace
}  // namespace triodrill::shadow::gpu

int main(int argc, char** argv) { return triodrill::shadow::gpu::Main(argc, argv); }
