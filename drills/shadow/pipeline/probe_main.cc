// triodrill-probe: one self-check of a node, run by its launcher. Prints one JSON object and ends, in any case within
// its bound: what hangs is ended by an alarm, and then it has printed nothing.
#include <signal.h>
#include <sys/time.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drills/shadow/pipeline/gpu_check.h"
#include "drills/shadow/pipeline/probe_checks.h"
#include "drills/shadow/system_clock.h"
#include "triodrill/exit_code.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

struct Answer {
  bool ok = true;
  std::string detail;
  std::vector<std::string> unreachable;
  bool gpu_sick = false;
};

int Print(const Answer& answer) {
  const nlohmann::json json = {
      {"ok", answer.ok}, {"detail", answer.detail}, {"unreachable", answer.unreachable}, {"gpu_sick", answer.gpu_sick}};
  std::cout << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  std::_Exit(0);  // gloo's threads may be stuck in what we have just measured
}

// NODE=ADDRESS:PORT
std::optional<Peer> ParsePeer(const std::string& text) {
  const size_t equals = text.find('=');
  const size_t colon = text.rfind(':');
  Peer peer;
  if (equals == std::string::npos || colon == std::string::npos || colon < equals) return std::nullopt;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &peer.port)) return std::nullopt;
  peer.node = text.substr(0, equals);
  peer.address = text.substr(equals + 1, colon - equals - 1);
  return peer;
}

Answer CheckNode(const std::string& address, const std::vector<Peer>& peers, double floor, Nanos timeout) {
  SystemClock clock;
  Answer answer;
  const Result<double> bandwidth = LoopbackBandwidth(clock, timeout);
  if (!bandwidth.ok()) return {false, Cat("loop-back: ", bandwidth.status().message()), {}};
  answer.detail = absl::StrFormat("loop-back %.0f Mbit/s", *bandwidth / 1e6);
  if (*bandwidth < floor) {
    return {false, Cat(answer.detail, absl::StrFormat(", under the floor of %.0f", floor / 1e6)), {}};
  }
  answer.unreachable = UnreachablePeers(address, peers, clock, timeout);
  answer.ok = answer.unreachable.empty();
  Append(answer.detail, "; ", peers.size() - answer.unreachable.size(), " of ", peers.size(), " peers answer");
  if (!answer.ok) Append(answer.detail, ", not ", absl::StrJoin(answer.unreachable, ", "));
  return answer;
}

int Main(int argc, char** argv) {
  CLI::App app("One self-check of a node of the embedded shadow partition; prints one JSON object.");
  std::string address;
  std::string store;
  std::vector<std::string> peer_texts;
  int timeout_ms = 2000;
  int rank = 0;
  double floor = 0;
  int gpu = -1;
  std::string nvml = "libnvidia-ml.so.1";
  app.require_subcommand(1);
  CLI::App* node = app.add_subcommand("node", "Loop-back bandwidth, and links to every peer");
  CLI::App* gather = app.add_subcommand("gather", "All-gather with one other node");
  for (CLI::App* command : {node, gather}) {
    command->add_option("--address", address, "On the data network")->required();
    command->add_option("--timeout-ms", timeout_ms, "Of each check")->check(CLI::Range(1, 600'000));
  }
  node->add_option("--floor", floor, "Least bits per second of the loop-back");
  node->add_option("--gpu", gpu, "Look at this GPU, too")->check(CLI::NonNegativeNumber);
  node->add_option("--nvml", nvml, "Library through which")->capture_default_str();
  node->add_option("--peer", peer_texts, "NODE=ADDRESS:PORT");
  gather->add_option("--rank", rank, "0 or 1")->required();
  gather->add_option("--store", store, "Directory of the rendezvous")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  const int limit_ms = 2 * timeout_ms + 500;
  const itimerval alarm{.it_interval = {}, .it_value = {.tv_sec = limit_ms / 1000, .tv_usec = limit_ms % 1000 * 1000}};
  setitimer(ITIMER_REAL, &alarm, nullptr);  // SIGALRM's default ends us
  const Nanos timeout = std::chrono::milliseconds(timeout_ms);
  if (gather->parsed()) {
    const Status status = GatherWithOther(address, rank, store, timeout);
    return Print({status.ok(), status.ok() ? "all-gather holds" : std::string(status.message()), {}});
  }
  std::vector<Peer> peers;
  for (const std::string& text : peer_texts) {
    if (const std::optional<Peer> peer = ParsePeer(text)) peers.push_back(*peer);
  }
  // First, and alone: no link that works makes up for a GPU that does not.
  if (const std::string why = gpu < 0 ? "" : WhyGpuIsSick(nvml, gpu); !why.empty()) {
    return Print({false, Cat("GPU ", gpu, ": ", why), {}, true});
  }
  return Print(CheckNode(address, peers, floor, timeout));
}

}  // namespace
}  // namespace triodrill::shadow::pipeline

int main(int argc, char** argv) { return triodrill::shadow::pipeline::Main(argc, argv); }
