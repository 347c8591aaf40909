#include "injectors/agent/watcher.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "injectors/agent/rank_scan.h"
#include "injectors/link/netlink.h"
#include "injectors/os/fd.h"
#include "injectors/process/process_identity.h"

namespace triodrill::agent {
namespace {

constexpr Nanos kScanEvery = std::chrono::milliseconds(50);

v1::NodeInstant NodeInstantOf(TimePoint earliest, TimePoint latest) {
  v1::NodeInstant instant;
  instant.set_earliest_node_ns(ToNanos(earliest));
  instant.set_latest_node_ns(ToNanos(latest));
  return instant;
}

// What is watched for one coordinator, from Watch to the next Watch. On the watcher's thread.
class Scene {
 public:
  Scene(Clock& clock, RankScan scan, std::unique_ptr<LinkMonitor> links, std::function<void(v1::AgentSays)>& say)
      : clock_(clock), scan_(std::move(scan)), links_(std::move(links)), say_(say) {}

  void TakeInventory();
  // Waits until something happens, a scan is due, or `call` is readable.
  void Next(int call);

 private:
  struct Worker {
    ProcessHandle handle;
    v1::RankFound found;
  };
  void Scan();
  bool Add(const v1::RankFound& found);
  void SayEnded(const Worker& worker, TimePoint alive, TimePoint ended);
  void SeeLinks(TimePoint before);
  void SeeLink(const LinkState& state, const v1::NodeInstant& at);

  Clock& clock_;
  RankScan scan_;
  std::unique_ptr<LinkMonitor> links_;  // nullptr: links cannot be watched here
  std::function<void(v1::AgentSays)>& say_;
  std::map<int, Worker> workers_;  // by pid
  std::map<int, bool> running_;    // by ifindex
  TimePoint scanned_;              // begin of the last scan
};

bool Scene::Add(const v1::RankFound& found) {
  auto handle = ProcessHandle::Open(found.process());
  if (!handle.ok()) {
    scan_.Forget(found.process().pid());
    return false;
  }
  workers_.insert_or_assign(found.process().pid(), Worker{*std::move(handle), found});
  return true;
}

void Scene::TakeInventory() {
  v1::AgentSays says;
  auto& inventory = *says.mutable_inventory();
  scanned_ = clock_.Now();
  for (v1::RankFound& found : scan_.Look(scanned_)) {
    if (Add(found)) *inventory.add_ranks() = std::move(found);
  }
  if (links_ != nullptr) {
    const Result<std::vector<LinkState>> links = links_->Snapshot();
    if (!links.ok()) spdlog::warn("inventory: {}", std::string(links.status().message()));
    for (const LinkState& link : links.ok() ? *links : std::vector<LinkState>()) {
      running_[link.identity.ifindex()] = link.Running();
      v1::LinkFound& found = *inventory.add_links();
      *found.mutable_link() = link.identity;
      found.set_running(link.Running());
    }
  }
  say_(std::move(says));
}

void Scene::Scan() {
  const TimePoint before = std::exchange(scanned_, clock_.Now());
  for (v1::RankFound& found : scan_.Look(scanned_)) {
    if (!Add(found)) continue;
    v1::AgentSays says;
    says.mutable_process()->set_change(v1::PROCESS_APPEARED);
    *says.mutable_process()->mutable_rank() = std::move(found);
    *says.mutable_process()->mutable_at() = NodeInstantOf(before, clock_.Now());
    say_(std::move(says));
  }
}

void Scene::SayEnded(const Worker& worker, TimePoint alive, TimePoint ended) {
  v1::AgentSays says;
  says.mutable_process()->set_change(v1::PROCESS_ENDED);
  *says.mutable_process()->mutable_rank() = worker.found;
  *says.mutable_process()->mutable_at() = NodeInstantOf(alive, ended);
  say_(std::move(says));
}

void Scene::SeeLink(const LinkState& state, const v1::NodeInstant& at) {
  const bool running = state.Running() && !state.deleted;
  const auto known = running_.find(state.identity.ifindex());
  if (known != running_.end() && known->second == running) return;
  running_[state.identity.ifindex()] = running;
  v1::AgentSays says;
  *says.mutable_link()->mutable_link() = state.identity;
  says.mutable_link()->set_running(running);
  *says.mutable_link()->mutable_at() = at;
  say_(std::move(says));
}

void Scene::SeeLinks(TimePoint before) {
  Result<std::vector<LinkState>> states = links_->Drain();
  if (absl::IsDataLoss(states.status())) states = links_->Snapshot();
  if (!states.ok()) {
    spdlog::warn("watch links: {}; links are not watched any more", std::string(states.status().message()));
    links_ = nullptr;
    return;
  }
  const v1::NodeInstant at = NodeInstantOf(before, clock_.Now());
  for (const LinkState& state : *states) SeeLink(state, at);
}

void Scene::Next(int call) {
  std::vector<pollfd> fds = {{.fd = call, .events = POLLIN, .revents = 0},
                             {.fd = links_ != nullptr ? links_->fd() : -1, .events = POLLIN, .revents = 0}};
  std::vector<int> pids;
  for (const auto& [pid, worker] : workers_) {
    fds.push_back({.fd = worker.handle.fd(), .events = POLLIN, .revents = 0});
    pids.push_back(pid);
  }
  // What is not readable now has not happened before `before`.
  const TimePoint before = clock_.Now();
  const Nanos wait = std::max(Nanos(0), Nanos(scanned_ + kScanEvery - before));
  const timespec timeout{.tv_sec = wait.count() / 1'000'000'000, .tv_nsec = wait.count() % 1'000'000'000};
  ppoll(fds.data(), fds.size(), &timeout, nullptr);
  const TimePoint after = clock_.Now();
  for (size_t i = 0; i < pids.size(); ++i) {
    if (fds[i + 2].revents == 0) continue;
    SayEnded(workers_.at(pids[i]), before, after);
    workers_.erase(pids[i]);
    scan_.Forget(pids[i]);
  }
  if (fds[1].revents != 0) SeeLinks(before);
  if (after >= scanned_ + kScanEvery) Scan();
}

class ThreadedWatcher final : public Watcher {
 public:
  ThreadedWatcher(Clock& clock, std::function<void(v1::AgentSays)> say, UniqueFd call)
      : clock_(clock), say_(std::move(say)), call_(std::move(call)), thread_([this] { Run(); }) {}

  ~ThreadedWatcher() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    Call();
    thread_.join();
  }

  void Watch(v1::Watch what) override {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = std::move(what);
    }
    Call();
  }

 private:
  void Call() { eventfd_write(call_.get(), 1); }

  void Run() {
    std::unique_ptr<Scene> scene;
    while (true) {
      if (scene != nullptr) {
        scene->Next(call_.get());
      } else {
        pollfd call{.fd = call_.get(), .events = POLLIN, .revents = 0};
        poll(&call, 1, -1);
      }
      eventfd_t count = 0;
      if (eventfd_read(call_.get(), &count) != 0) continue;
      std::optional<v1::Watch> wanted;
      {
        const std::lock_guard lock(mutex_);
        if (ending_) return;
        wanted.swap(wanted_);
      }
      if (wanted) scene = SceneOf(*wanted);
    }
  }

  std::unique_ptr<Scene> SceneOf(const v1::Watch& wanted) {
    if (!wanted.has_rank_process()) return nullptr;
    Result<RankScan> scan = RankScan::Of(wanted.rank_process());
    if (!scan.ok()) {
      // No Inventory comes, and the coordinator will not go on without one.
      spdlog::error("{}", std::string(scan.status().message()));
      return nullptr;
    }
    Result<std::unique_ptr<LinkMonitor>> links = LinkMonitor::Open();
    if (!links.ok()) spdlog::warn("watch links: {}", std::string(links.status().message()));
    auto scene = std::make_unique<Scene>(clock_, *std::move(scan), links.ok() ? *std::move(links) : nullptr, say_);
    scene->TakeInventory();
    return scene;
  }

  Clock& clock_;
  std::function<void(v1::AgentSays)> say_;
  UniqueFd call_;
  std::mutex mutex_;
  std::optional<v1::Watch> wanted_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Watcher>> Watcher::Start(Clock& clock, std::function<void(v1::AgentSays)> say) {
  UniqueFd call(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!call.valid()) return ErrnoStatus("make", "the watcher's event");
  return std::make_unique<ThreadedWatcher>(clock, std::move(say), std::move(call));
}

}  // namespace triodrill::agent
