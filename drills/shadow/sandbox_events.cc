// What the sandbox's inits say, and what is done about it. The rest of Sandbox is in sandbox.cc.
#include <poll.h>

#include <algorithm>

#include "drills/shadow/namespaces.h"
#include "drills/shadow/sandbox.h"
#include "drills/shadow/system_clock.h"
#include "triodrill/text.h"

namespace triodrill::shadow {
namespace {

constexpr std::chrono::seconds kRestartAfter{1};  // as systemd would with RestartSec=1

bool Readable(int fd) {
  pollfd look{fd, POLLIN, 0};
  return poll(&look, 1, 0) == 1;
}

}  // namespace

std::vector<int> Sandbox::Descriptors() const {
  std::vector<int> descriptors;
  if (outer_channel_.valid()) descriptors.push_back(outer_channel_.get());
  for (const Node& node : nodes_) {
    if (node.channel.valid()) descriptors.push_back(node.channel.get());
  }
  return descriptors;
}

bool Sandbox::Alive() const { return outer_pid_ != 0 && !Ended(outer_pidfd_.get()); }

std::optional<TimePoint> Sandbox::TimeOfNextRestart() const {
  std::optional<TimePoint> next;
  for (const Node& node : nodes_) {
    if (node.agent_restart && (!next || *node.agent_restart < *next)) next = node.agent_restart;
  }
  return next;
}

void Sandbox::Pump() {
  while (outer_channel_.valid() && Readable(outer_channel_.get())) {
    const std::optional<Heard> heard = Hear(outer_channel_.get());
    if (heard && heard->message.said == Said::kReady) outer_ready_ = true;
    if (heard && heard->message.said == Said::kFailed && build_problem_.empty()) build_problem_ = heard->message.text;
    if (heard) continue;
    if (build_problem_.empty()) build_problem_ = "the sandbox's init ended";
    outer_channel_.Reset();
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    while (nodes_[i].channel.valid() && Readable(nodes_[i].channel.get())) {
      const std::optional<Heard> heard = Hear(nodes_[i].channel.get());
      if (heard) {
        Take(i, *heard);
        continue;
      }
      nodes_[i].channel.Reset();
      nodes_[i].agent_restart.reset();
      states_[i].lost = true;
      states_[i].agent.running = states_[i].workload.running = false;
      states_[i].agent.pid = states_[i].workload.pid = 0;
      if (Alive()) event_("node-lost", spec_.nodes(static_cast<int>(i)).name(), std::nullopt);
    }
    if (nodes_[i].agent_restart && clock_.Now() >= *nodes_[i].agent_restart) StartAgent(i);
  }
}

void Sandbox::Take(size_t index, const Heard& heard) {
  const std::string& name = spec_.nodes(static_cast<int>(index)).name();
  const Role role = heard.message.role;
  ProgramState& program = role == Role::kAgent ? states_[index].agent : states_[index].workload;
  switch (heard.message.said) {
    case Said::kReady:
      states_[index].ready = true;
      states_[index].init_pid = heard.pid;
      return;
    case Said::kFailed:
      if (build_problem_.empty()) build_problem_ = Cat("node ", name, ": ", heard.message.text);
      return;
    case Said::kStarted:
      program.running = true;
      program.pid = heard.pid;
      ++program.starts;
      if (program.starts > 1) event_(Cat(Name(role), "-restarted"), name, std::nullopt);
      return;
    case Said::kNotStarted:
      (role == Role::kAgent ? nodes_[index].agent_problem : nodes_[index].workload_problem) = heard.message.text;
      if (role == Role::kAgent && program.starts > 0) nodes_[index].agent_restart = clock_.Now() + kRestartAfter;
      return;
    case Said::kExited:
      program.running = false;
      program.pid = 0;
      program.exit_code = ExitCodeOf(heard.message.status);
      if (role == Role::kAgent) return AgentExited(index, *program.exit_code);
      return event_("workload-exited", name, program.exit_code);
    case Said::kWorkloadGone:
      nodes_[index].awaits_stop = false;
      nodes_[index].left_after_stop = heard.message.status;
      return;
  }
}

void Sandbox::AgentExited(size_t index, int exit_code) {
  if (nodes_[index].agent_exit_expected) return;
  event_("agent-exited", spec_.nodes(static_cast<int>(index)).name(), exit_code);
  if (!nodes_[index].agent_stays_down) nodes_[index].agent_restart = clock_.Now() + kRestartAfter;
}

bool Sandbox::WaitUntil(const std::function<bool()>& done, Nanos at_most) {
  const TimePoint deadline = clock_.Now() + at_most;
  while (true) {
    Pump();
    if (done()) return true;
    if (clock_.Now() >= deadline || Descriptors().empty()) return false;
    std::vector<pollfd> look;
    for (const int fd : Descriptors()) look.push_back({fd, POLLIN, 0});
    const TimePoint wake = std::min(deadline, TimeOfNextRestart().value_or(deadline));
    poll(look.data(), look.size(), PollTimeout(clock_, wake));
  }
}

}  // namespace triodrill::shadow
