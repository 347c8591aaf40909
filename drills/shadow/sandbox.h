// The sandbox as a whole, seen from the supervisor (outside of it): builds it, knows what runs in it, gives orders,
// ends it. Used on one thread. The process that holds a Sandbox is the one thing that keeps it alive: whatever kills
// that process, the kernel ends the rest.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "drills/shadow/control.h"
#include "drills/shadow/node_channel.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::shadow {

class Sandbox {
 public:
  using Event = std::function<void(std::string_view event, std::string_view node, std::optional<int> exit_code)>;

  // `environment`: the caller's, NAME=value. `spec` has passed CheckSpec.
  Sandbox(v1::ShadowSpec spec, std::vector<std::string> environment, Clock& clock, Event event);
  ~Sandbox();  // ends it, without grace, if TearDown has not
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Namespaces, network, agents. On an error nothing is left once TearDown or the destructor has run.
  Status Build();

  // On all nodes; each waits, with a bound, until it is confirmed.
  Status StartWorkload();
  Status StopWorkload();

  Status RestartAgent(const std::string& node);
  Status KillAgent(const std::string& node, bool stay_down);

  // SIGTERM to the agents and a short grace, in which they take back what they have done; then the end of all,
  // returning once every process of the sandbox is gone.
  Status TearDown();

  // Descriptors to poll for reading; call Pump when one is ready or TimeOfNextRestart has come.
  std::vector<int> Descriptors() const;
  void Pump();
  std::optional<TimePoint> TimeOfNextRestart() const;
  bool Alive() const;  // the outer init is

  const v1::ShadowSpec& spec() const { return spec_; }
  const std::vector<NodeState>& nodes() const { return states_; }
  bool user_namespace() const { return user_namespace_; }

 private:
  struct Node {
    OwnedFd channel;
    bool agent_stays_down = false;
    bool agent_exit_expected = false;
    std::optional<TimePoint> agent_restart;
    bool awaits_stop = false;
    int left_after_stop = 0;
    std::string agent_problem;  // why the last order to start it could not be done
    std::string workload_problem;
  };

  Status ForkOuterInit();
  Status AwaitNodes();
  void Take(size_t index, const Heard& heard);
  void AgentExited(size_t index, int exit_code);
  void StartAgent(size_t index);
  bool WaitUntil(const std::function<bool()>& done, Nanos at_most);
  Result<size_t> IndexOf(const std::string& node) const;

  const v1::ShadowSpec spec_;
  const std::vector<std::string> environment_;
  Clock& clock_;
  const Event event_;
  const bool user_namespace_;
  OwnedFd outer_channel_;
  OwnedFd outer_pidfd_;
  pid_t outer_pid_ = 0;
  bool outer_ready_ = false;
  std::string build_problem_;
  std::vector<Node> nodes_;
  std::vector<NodeState> states_;
};

}  // namespace triodrill::shadow
