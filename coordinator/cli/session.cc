#include "coordinator/cli/session.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace triodrill::cli {
namespace {

constexpr Nanos kAgentsWithin = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

Session::Session(Options options, std::unique_ptr<engines::PartitionLock> lock, Voice& voice, Interrupts& interrupts)
    : options_(std::move(options)),
      lock_(std::move(lock)),
      voice_(voice),
      interrupts_(interrupts),
      roster_(options_.partition.spec()),
      engine_(options_.programs, options_.state_dir) {}

Result<std::unique_ptr<Session>> Session::Open(Options options, Clock& clock, Voice& voice, Interrupts& interrupts) {
  TRIODRILL_ASSIGN_OR_RETURN(std::unique_ptr<engines::PartitionLock> lock,
                             engines::PartitionLock::Take(options.state_dir));
  TRIODRILL_ASSIGN_OR_RETURN(
      const v1::ShadowSpec spec,
      engines::LocalEngine::Spec(options.partition, options.pipeline, options.programs, options.state_dir));
  std::unique_ptr<Session> session(new Session(std::move(options), std::move(lock), voice, interrupts));
  interrupts.TellTo(
      [inbox = &session->inbox_](const std::string& signal) { inbox->Push(conduct::AbortAsked{signal}); });

  fleet::Options fleet_options{.socket_path = engines::CoordinatorSocket(session->options_.state_dir),
                               .run_id = session->options_.run_id,
                               .lease = kLease};
  for (const v1::Node& node : session->options_.partition.spec().nodes()) fleet_options.nodes.push_back(node.name());
  TRIODRILL_ASSIGN_OR_RETURN(
      session->fleet_, fleet::Fleet::Listen(fleet_options, clock, [inbox = &session->inbox_](fleet::AgentEvent event) {
        inbox->Push(std::move(event));
      }));

  voice.Say(absl::StrCat("shadow partition '", session->options_.partition.metadata().name(), "': bringing up ",
                         spec.nodes_size(), " nodes"));
  session->up_ = true;  // also when it fails half-way: Close cleans
  Status up = session->engine_.Up(spec, engines::Lifetime::kWithUs);
  if (up.ok()) up = session->AwaitAgents(clock);
  if (!up.ok()) {
    if (Status closed = session->Close(); !closed.ok()) voice.Problem(std::string(closed.message()));
    return up;
  }
  voice.Say(absl::StrCat(session->engine_.Attached() ? "attached to it" : "up", ": every agent answers"));
  return session;
}

Session::~Session() {
  if (Status closed = Close(); !closed.ok()) voice_.Problem(std::string(closed.message()));
}

Status Session::AwaitAgents(Clock& clock) {
  const TimePoint deadline = clock.Now() + kAgentsWithin;
  while (true) {
    for (conduct::Arrival& arrival : inbox_.Pop(kLook)) {
      if (std::holds_alternative<conduct::AbortAsked>(arrival)) return absl::CancelledError("interrupted");
      if (const auto* event = std::get_if<fleet::AgentEvent>(&arrival)) roster_.Take(*event);
    }
    std::vector<std::string> missing;
    for (const auto& [name, node] : roster_.nodes()) {
      if (!node.hello) missing.push_back(name);
    }
    if (missing.empty()) return Ok();
    if (clock.Now() >= deadline) {
      return absl::UnavailableError(absl::StrCat("no agent answers on ", absl::StrJoin(missing, ", "), "; see ",
                                                 engines::NodeDir(options_.state_dir, missing.front()), "/agent.log"));
    }
  }
}

Status Session::Drain() {
  for (conduct::Arrival& arrival : inbox_.Pop(std::chrono::milliseconds{0})) {
    if (const auto* event = std::get_if<fleet::AgentEvent>(&arrival)) roster_.Take(*event);
  }
  return interrupts_.came() ? absl::CancelledError("interrupted") : Ok();
}

Result<bool> Session::EnsureWorkload() {
  TRIODRILL_ASSIGN_OR_RETURN(const engines::EngineStatus status, engine_.GetStatus());
  bool running = true;
  for (const engines::NodeStatus& node : status.nodes) running = running && node.workload.running;
  if (running && !status.nodes.empty()) return false;
  TRIODRILL_RETURN_IF_ERROR(engine_.RestartWorkload());
  return true;
}

Status Session::Close() {
  interrupts_.TellTo(nullptr);
  fleet_.reset();  // Goodbye: agents revert what is open
  if (!up_) return Ok();
  up_ = false;
  if (engine_.Attached()) return Ok();
  return engine_.Down();
}

}  // namespace triodrill::cli
