// A coordinator that fires one fault and is killed as soon as it has landed: dying_coordinator SOCKET NODE
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "coordinator/fleet/fleet.h"
#include "injectors/os/clock.h"

namespace triodrill {
namespace {

// Each message that comes is answered with the next step; the last one is the end.
class Coordinator {
 public:
  Coordinator(const std::string& socket, std::string node) : node_(std::move(node)) {
    fleet::Options options;
    options.socket_path = socket;
    options.run_id = "r1";
    options.lease = std::chrono::seconds(2);
    options.nodes = {node_};
    auto fleet = fleet::Fleet::Listen(options, clock_, [this](const fleet::AgentEvent& event) { On(event); });
    if (!fleet.ok()) std::exit(1);
    const std::lock_guard lock(mutex_);
    fleet_ = *std::move(fleet);
    there_.notify_all();
  }

 private:
  void On(const fleet::AgentEvent& event) {
    std::unique_lock lock(mutex_);
    there_.wait(lock, [this] { return fleet_ != nullptr; });
    v1::CoordinatorSays says;
    if (event.kind == fleet::AgentEvent::Kind::kConnected) {
      v1::AimedFault& fault = *says.mutable_prepare()->mutable_fault();
      fault.set_shot("1.a.0");
      fault.set_run_id("r1");
      fault.set_kind("process.pause");
      fault.mutable_with()->mutable_process_pause();
      fault.mutable_target()->mutable_process()->set_pid(1);
    } else if (event.said.has_prepared()) {
      says.mutable_arm()->set_shot("1.a.0");
      says.mutable_arm()->set_fire_at_node_ns(
          fleet::ToNode(*fleet_->Offset(node_), clock_.Now() + std::chrono::seconds(1)));
    } else if (event.said.has_landed()) {
      kill(getpid(), SIGKILL);
    } else {
      return;
    }
    if (!fleet_->Send(node_, says).ok()) std::exit(2);
  }

  const std::string node_;
  SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable there_;
  std::unique_ptr<fleet::Fleet> fleet_;
};

}  // namespace
}  // namespace triodrill

int main(int, char** argv) {
  triodrill::Coordinator coordinator(argv[1], argv[2]);
  while (true) pause();
}
