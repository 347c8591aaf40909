// A core with a fake clock and a fake node under it: injectors and journal are a few flags, and every action is
// performed at once, as the executor does.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "injectors/agent/core.h"

namespace triodrill::agent {

inline constexpr auto kLease = std::chrono::seconds(4);

// What the node does when it is asked; the defaults are a node where all goes well.
struct FakeNode {
  Status prepare;
  Status record;
  Status apply;
  Status revert;
  Status discharge;
  bool look_fails = false;
  int looks_until_present = 0;  // after Apply
  int looks_until_absent = 0;   // after Revert
  bool lands = true;
  bool comes_off = true;
  bool foreign = false;
  Nanos record_takes{0};
  std::string resource = "process/7@1/state";
  std::string further_resource;

  // What is true now.
  std::set<std::string> records;
  std::set<std::string> effects;
  std::vector<std::string> calls;  // "apply 1.a.0"
  int looks = 0;
};

class CoreRig {
 public:
  explicit CoreRig(const std::vector<ReplayOutcome>& replayed = {}) : CoreRig(DefaultSettings(), replayed) {}
  CoreRig(Settings settings, const std::vector<ReplayOutcome>& replayed, std::vector<v1::Discharged> traces = {})
      : core(std::move(settings), replayed, FromNanos(1), FromNanos(2), std::move(traces)) {}

  static Settings DefaultSettings() {
    Settings settings{
        .node = "n1", .version = "1", .boot_id = "boot", .policy = {}, .capabilities = {}, .patience = {}};
    settings.policy.set_shadow(true);
    for (const char* kind : {"process.kill", "process.pause", "link.down"}) settings.policy.add_faults(kind);
    settings.policy.mutable_max_hold()->set_seconds(60);
    settings.policy.add_protect_interfaces("mgmt0");
    return settings;
  }

  void Feed(Event event) {
    std::deque<Action> todo;
    const auto decide = [this, &todo](Event what) {
      for (Action& action : core.On(std::move(what), now)) todo.push_back(std::move(action));
    };
    decide(std::move(event));
    while (!todo.empty()) {
      const Action action = std::move(todo.front());
      todo.pop_front();
      if (auto outcome = Perform(action)) decide(*std::move(outcome));
    }
  }

  // Lets time pass, waking the core exactly when it wants.
  void Advance(Nanos by) {
    const TimePoint end = now + by;
    while (true) {
      const auto wake = core.NextWake();
      if (!wake || wake->at > end) break;
      now = std::max(now, wake->at);
      Feed(Tick{});
    }
    now = end;
  }

  void Connect(const std::string& run = "r1") {
    Feed(LinkUp{});
    v1::CoordinatorSays says;
    says.mutable_welcome()->set_run_id(run);
    says.mutable_welcome()->set_lease_ns(Nanos(kLease).count());
    Hear(says);
  }
  void Hear(const v1::CoordinatorSays& says) { Feed(Heard{says, now}); }
  void RenewLease() {
    v1::CoordinatorSays says;
    says.mutable_lease();
    Hear(says);
  }
  // Time passes, and the coordinator is there all the while.
  void Live(Nanos by) {
    for (Nanos passed{0}; passed < by; passed += Nanos(kLease) / 4) {
      RenewLease();
      Advance(std::min(Nanos(kLease) / 4, by - passed));
    }
  }

  static v1::Prepare Ask(const std::string& shot, const std::string& kind = "process.pause") {
    v1::Prepare prepare;
    v1::AimedFault& fault = *prepare.mutable_fault();
    fault.set_shot(shot);
    fault.set_run_id("r1");
    fault.set_kind(kind);
    if (kind == "process.kill") fault.mutable_with()->mutable_process_kill()->set_signal("SIGKILL");
    if (kind == "process.pause") fault.mutable_with()->mutable_process_pause();
    if (kind == "link.down") fault.mutable_with()->mutable_link_down();
    if (kind == "cpu.throttle") fault.mutable_with()->mutable_cpu_throttle()->set_quota(20);
    if (kind == "link.down") {
      fault.mutable_target()->mutable_link()->set_name("eth0");
    } else {
      fault.mutable_target()->mutable_process()->set_pid(7);
    }
    prepare.set_max_hold_ns(30'000'000'000);
    return prepare;
  }
  void Prepare(const v1::Prepare& prepare) {
    v1::CoordinatorSays says;
    *says.mutable_prepare() = prepare;
    Hear(says);
  }
  void Arm(const std::string& shot, Nanos ahead = std::chrono::milliseconds(500)) {
    v1::CoordinatorSays says;
    says.mutable_arm()->set_shot(shot);
    says.mutable_arm()->set_fire_at_node_ns(ToNanos(now + ahead));
    Hear(says);
  }
  void Revert(const std::string& shot) {
    v1::CoordinatorSays says;
    says.mutable_revert()->set_shot(shot);
    Hear(says);
  }
  void Cancel(const std::string& shot) {
    v1::CoordinatorSays says;
    says.mutable_cancel()->set_shot(shot);
    Hear(says);
  }
  void Goodbye() {
    v1::CoordinatorSays says;
    says.mutable_goodbye();
    Hear(says);
  }
  // Prepared, armed and fired: held, if it lands.
  void Hold(const v1::Prepare& prepare) {
    Prepare(prepare);
    Arm(prepare.fault().shot());
    Advance(std::chrono::milliseconds(510));
  }

  // The last message of a kind; an empty one if there was none.
  template <typename Message>
  Message Last(bool (v1::AgentSays::*has)() const, const Message& (v1::AgentSays::*get)() const) const {
    for (auto says = said.rbegin(); says != said.rend(); ++says) {
      if (((*says).*has)()) return ((*says).*get)();
    }
    return {};
  }
  v1::Hello LastHello() const { return Last(&v1::AgentSays::has_hello, &v1::AgentSays::hello); }
  v1::Prepared LastPrepared() const { return Last(&v1::AgentSays::has_prepared, &v1::AgentSays::prepared); }
  v1::Armed LastArmed() const { return Last(&v1::AgentSays::has_armed, &v1::AgentSays::armed); }
  v1::Landed LastLanded() const { return Last(&v1::AgentSays::has_landed, &v1::AgentSays::landed); }
  v1::Missed LastMissed() const { return Last(&v1::AgentSays::has_missed, &v1::AgentSays::missed); }
  v1::Reverted LastReverted() const { return Last(&v1::AgentSays::has_reverted, &v1::AgentSays::reverted); }
  int64_t Count(bool (v1::AgentSays::*has)() const) const {
    return std::count_if(said.begin(), said.end(), [has](const v1::AgentSays& says) { return (says.*has)(); });
  }

  FakeNode node;
  TimePoint now = FromNanos(1'000'000'000'000);
  std::vector<v1::AgentSays> said;
  v1::Watch watching;
  Core core;

 private:
  std::optional<Event> Perform(const Action& action) {
    return std::visit([this](const auto& what) { return Do(what); }, action);
  }
  std::optional<Event> Do(const Say& what) {
    said.push_back(what.what);
    return std::nullopt;
  }
  std::optional<Event> Do(const DoWatch& what) {
    watching = what.watch;
    return std::nullopt;
  }
  std::optional<Event> Do(const DoPrepare& what) {
    node.calls.push_back("prepare " + what.fault.shot());
    if (!node.prepare.ok()) return PrepareEnded{what.fault.shot(), node.prepare};
    v1::UndoRecord record;
    *record.mutable_fault() = what.fault;
    record.set_resource(node.resource);
    if (!node.further_resource.empty()) record.add_further_resources(node.further_resource);
    record.set_by_hand("kill -CONT 7");
    return PrepareEnded{what.fault.shot(), record};
  }
  std::optional<Event> Do(const DoRecord& what) {
    const std::string& shot = what.record.fault().shot();
    node.calls.push_back("record " + shot);
    now += node.record_takes;
    if (node.record.ok()) node.records.insert(shot);
    return RecordEnded{shot, node.record};
  }
  std::optional<Event> Do(const DoApply& what) {
    const std::string& shot = what.record.fault().shot();
    node.calls.push_back("apply " + shot);
    EXPECT_TRUE(node.records.contains(shot)) << "applied without a record";
    node.effects.insert(shot);
    node.looks = 0;
    const TimePoint begun = now;
    now += std::chrono::microseconds(10);
    return ApplyEnded{shot, begun, now, node.apply};
  }
  std::optional<Event> Do(const DoLook& what) {
    const std::string& shot = what.record.fault().shot();
    const TimePoint begun = now;
    now += std::chrono::microseconds(5);
    ++node.looks;
    const auto answer = [&](Result<Effect> effect) { return LookEnded{shot, begun, now, std::move(effect)}; };
    if (node.look_fails) return answer(absl::UnavailableError("cannot look"));
    if (node.foreign) return answer(Effect{Presence::kForeign, "not ours"});
    const bool fired = node.effects.contains(shot);
    const bool still_coming = fired && (!node.lands || node.looks <= node.looks_until_present);
    const bool still_there = !fired && (!node.comes_off || node.looks <= node.looks_until_absent);
    const bool present = fired ? !still_coming : still_there;
    return answer(Effect{present ? Presence::kPresent : Presence::kAbsent, present ? "state T" : "state S"});
  }
  std::optional<Event> Do(const DoRevert& what) {
    const std::string& shot = what.record.fault().shot();
    node.calls.push_back("revert " + shot);
    if (node.revert.ok()) node.effects.erase(shot);
    if (!reverted_once_.contains(shot)) node.looks = 0;
    reverted_once_.insert(shot);
    return RevertEnded{shot, now, node.revert};
  }
  std::optional<Event> Do(const DoDischarge& what) {
    node.calls.push_back("discharge " + what.shot);
    if (!node.discharge.ok()) return DischargeEnded{what.shot, node.discharge};
    if (node.records.erase(what.shot) == 0) return DischargeEnded{what.shot, absl::NotFoundError("no record")};
    return DischargeEnded{what.shot, Ok()};
  }

  std::set<std::string> reverted_once_;
};

}  // namespace triodrill::agent
