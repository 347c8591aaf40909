#include "drills/shadow/sandbox.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "drills/shadow/namespaces.h"
#include "drills/shadow/outer_init.h"
#include "drills/shadow/plan.h"
#include "drills/shadow/system_clock.h"
#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

constexpr std::chrono::seconds kBuildWithin{20};
constexpr std::chrono::seconds kStartWithin{10};
constexpr std::chrono::seconds kStopWithin{12};  // the node's own bound is 10 s
constexpr std::chrono::seconds kAgentGrace{3};
constexpr std::chrono::seconds kEmptyWithin{20};

}  // namespace

Sandbox::Sandbox(v1::ShadowSpec spec, std::vector<std::string> environment, Clock& clock, Event event)
    : spec_(std::move(spec)),
      environment_(std::move(environment)),
      clock_(clock),
      event_(std::move(event)),
      user_namespace_(geteuid() != 0),
      nodes_(static_cast<size_t>(spec_.nodes_size())),
      states_(static_cast<size_t>(spec_.nodes_size())) {}

Sandbox::~Sandbox() {
  if (outer_pid_ == 0) return;
  PidfdSignal(outer_pidfd_.get(), SIGKILL);
  waitpid(outer_pid_, nullptr, 0);
}

Status Sandbox::Build() {
  TRIODRILL_RETURN_IF_ERROR(ForkOuterInit());
  TRIODRILL_RETURN_IF_ERROR(AwaitNodes());
  for (size_t i = 0; i < nodes_.size(); ++i) StartAgent(i);
  const auto started = [this] {
    return std::all_of(states_.begin(), states_.end(), [](const NodeState& state) { return state.agent.starts > 0; }) ||
           std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.agent_problem.empty(); });
  };
  const bool in_time = WaitUntil(started, kStartWithin);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].agent_problem.empty()) continue;
    return absl::UnavailableError(
        Cat("start the agent of ", spec_.nodes(static_cast<int>(i)).name(), ": ", nodes_[i].agent_problem));
  }
  return in_time ? Ok() : absl::DeadlineExceededError("start the agents: a node's init did not answer");
}

Status Sandbox::ForkOuterInit() {
  const OwnedFd own_pidfd(PidfdOpen(getpid()));
  if (!own_pidfd.valid()) return ErrnoStatus("pidfd_open", "the supervisor");
  TRIODRILL_ASSIGN_OR_RETURN(ChannelPair outer, MakeChannel());
  std::vector<OwnedFd> inits;
  SwitchSetup setup;
  setup.supervisor_pidfd = own_pidfd.get();
  for (int i = 0; i < spec_.nodes_size(); ++i) {
    TRIODRILL_ASSIGN_OR_RETURN(ChannelPair pair, MakeChannel());
    nodes_[static_cast<size_t>(i)].channel = std::move(pair.supervisor);
    inits.push_back(std::move(pair.init));
    const v1::ShadowNode& node = spec_.nodes(i);
    setup.nodes.push_back({.node = &node,
                           .address_with_prefix = AddressWithPrefix(spec_, node),
                           .hosts_file = spec_.state_dir() + "/hosts",
                           .agent_environment = ProgramEnvironment(environment_, node.agent(), Role::kAgent),
                           .workload_environment = ProgramEnvironment(environment_, node.workload(), Role::kWorkload)});
  }
  const uint64_t user = user_namespace_ ? CLONE_NEWUSER : 0;
  TRIODRILL_ASSIGN_OR_RETURN(outer_pid_, ForkInto(user | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS));
  if (outer_pid_ == 0) {
    outer.supervisor.Reset();
    for (Node& node : nodes_) node.channel.Reset();
    RunOuterInit(setup, std::move(outer.init), std::move(inits));
  }
  outer_pidfd_.Reset(PidfdOpen(outer_pid_));
  outer_channel_ = std::move(outer.supervisor);
  if (user_namespace_) TRIODRILL_RETURN_IF_ERROR(MapCallerToRoot(outer_pid_));
  return SendOrder(outer_channel_.get(), Order::kGo);
}

Status Sandbox::AwaitNodes() {
  const auto built = [this] {
    return !build_problem_.empty() || (outer_ready_ && std::all_of(states_.begin(), states_.end(),
                                                                   [](const NodeState& state) { return state.ready; }));
  };
  const bool in_time = WaitUntil(built, kBuildWithin);
  if (!build_problem_.empty()) return absl::UnavailableError(build_problem_);
  if (!in_time) return absl::DeadlineExceededError("build the namespaces: the sandbox's init did not answer");
  return Ok();
}

Result<size_t> Sandbox::IndexOf(const std::string& node) const {
  for (int i = 0; i < spec_.nodes_size(); ++i) {
    if (spec_.nodes(i).name() != node) continue;
    if (states_[static_cast<size_t>(i)].lost)
      return absl::UnavailableError(Cat("node ", node, " is lost: its init is gone"));
    return static_cast<size_t>(i);
  }
  return absl::NotFoundError(Cat("there is no node ", node, " in this sandbox"));
}

Status Sandbox::StartWorkload() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const std::string& name = spec_.nodes(static_cast<int>(i)).name();
    if (spec_.nodes(static_cast<int>(i)).workload().argv().empty())
      return absl::FailedPreconditionError("start workload: the specification has none");
    if (states_[i].lost) return absl::UnavailableError(Cat("start workload: node ", name, " is lost"));
    if (states_[i].workload.running)
      return absl::FailedPreconditionError(Cat("start workload: it runs on ", name, " already; stop it first"));
  }
  std::vector<int> starts;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].workload_problem.clear();
    starts.push_back(states_[i].workload.starts);
    TRIODRILL_RETURN_IF_ERROR(SendOrder(nodes_[i].channel.get(), Order::kStartWorkload));
  }
  std::vector<std::string> problems;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto answered = [&] {
      return states_[i].workload.starts > starts[i] || !nodes_[i].workload_problem.empty() || states_[i].lost;
    };
    if (!WaitUntil(answered, kStartWithin) || states_[i].lost) nodes_[i].workload_problem = "its init did not answer";
    if (!nodes_[i].workload_problem.empty())
      problems.push_back(Cat(spec_.nodes(static_cast<int>(i)).name(), ": ", nodes_[i].workload_problem));
  }
  if (problems.empty()) return Ok();
  const Status stopped = StopWorkload();
  return absl::UnavailableError(Cat("start workload: ", absl::StrJoin(problems, "; "),
                                    stopped.ok() ? "" : "; and stopping the rest: ", stopped.message()));
}

Status Sandbox::StopWorkload() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (states_[i].lost) continue;  // took its processes with it
    nodes_[i].awaits_stop = SendOrder(nodes_[i].channel.get(), Order::kStopWorkload).ok();
    nodes_[i].left_after_stop = nodes_[i].awaits_stop ? 0 : -1;
  }
  const bool in_time = WaitUntil(
      [this] {
        for (size_t i = 0; i < nodes_.size(); ++i) {
          if (nodes_[i].awaits_stop && !states_[i].lost) return false;
        }
        return true;
      },
      kStopWithin);
  std::vector<std::string> problems;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const std::string& name = spec_.nodes(static_cast<int>(i)).name();
    if (states_[i].lost) continue;
    if (!in_time && nodes_[i].awaits_stop) problems.push_back(Cat(name, ": its init did not answer"));
    if (nodes_[i].left_after_stop != 0)
      problems.push_back(Cat(name, ": ", nodes_[i].left_after_stop, " processes would not die"));
  }
  return problems.empty() ? Ok() : absl::UnavailableError(Cat("stop workload: ", absl::StrJoin(problems, "; ")));
}

void Sandbox::StartAgent(size_t index) {
  nodes_[index].agent_restart.reset();
  nodes_[index].agent_exit_expected = false;
  nodes_[index].agent_stays_down = false;
  nodes_[index].agent_problem.clear();
  const Status sent = SendOrder(nodes_[index].channel.get(), Order::kStartAgent);
  if (!sent.ok()) nodes_[index].agent_problem = std::string(sent.message());
}

Status Sandbox::RestartAgent(const std::string& node) {
  TRIODRILL_ASSIGN_OR_RETURN(const size_t index, IndexOf(node));
  const ProgramState& agent = states_[index].agent;
  nodes_[index].agent_exit_expected = true;
  const auto gone = [&] { return !agent.running; };
  for (const Order order : {Order::kTerminateAgent, Order::kKillAgent}) {
    if (gone()) break;
    TRIODRILL_RETURN_IF_ERROR(SendOrder(nodes_[index].channel.get(), order));
    WaitUntil(gone, kAgentGrace);
  }
  if (!gone()) return absl::UnavailableError(Cat("restart the agent of ", node, ": it would not die"));
  const int starts = agent.starts;
  StartAgent(index);
  const bool answered =
      WaitUntil([&] { return agent.starts > starts || !nodes_[index].agent_problem.empty(); }, kStartWithin);
  if (answered && nodes_[index].agent_problem.empty()) return Ok();
  return absl::UnavailableError(
      Cat("restart the agent of ", node, ": ", answered ? nodes_[index].agent_problem : "no answer"));
}

Status Sandbox::KillAgent(const std::string& node, bool stay_down) {
  TRIODRILL_ASSIGN_OR_RETURN(const size_t index, IndexOf(node));
  nodes_[index].agent_stays_down = stay_down;
  if (stay_down) nodes_[index].agent_restart.reset();
  TRIODRILL_RETURN_IF_ERROR(SendOrder(nodes_[index].channel.get(), Order::kKillAgent));
  if (WaitUntil([&] { return !states_[index].agent.running; }, kAgentGrace)) return Ok();
  return absl::UnavailableError(Cat("kill the agent of ", node, ": it would not die"));
}

Status Sandbox::TearDown() {
  if (outer_pid_ == 0) return Ok();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].agent_exit_expected = true;
    nodes_[i].agent_restart.reset();
    if (!states_[i].lost) SendOrder(nodes_[i].channel.get(), Order::kTerminateAgent).IgnoreError();
  }
  WaitUntil(
      [this] {
        return std::none_of(states_.begin(), states_.end(), [](const NodeState& state) { return state.agent.running; });
      },
      kAgentGrace);
  PidfdSignal(outer_pidfd_.get(), SIGKILL);
  // The kernel lets an init's end be seen only after every process of its pid namespace has gone.
  pollfd look{outer_pidfd_.get(), POLLIN, 0};
  if (poll(&look, 1, static_cast<int>(std::chrono::milliseconds(kEmptyWithin).count())) != 1) {
    return absl::DeadlineExceededError(Cat("end the sandbox: processes below pid ", outer_pid_,
                                           " are still there after SIGKILL (stuck in the kernel?); look at /proc/",
                                           outer_pid_, "/task"));
  }
  waitpid(outer_pid_, nullptr, 0);
  outer_pid_ = 0;
  return Ok();
}

}  // namespace triodrill::shadow
