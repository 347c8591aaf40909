#include "tests/sim/node.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "injectors/journal/settle.h"

namespace triodrill::sim {
namespace {

constexpr Nanos kNever = std::chrono::hours(24 * 365);

agent::Settings SettingsOf(const std::string& name, int boot, Mutant mutant) {
  agent::Settings settings{
      .node = name, .version = "sim", .boot_id = Cat("boot-", boot), .policy = {}, .capabilities = {}, .patience = {}};
  settings.policy.set_shadow(true);
  for (const char* kind : {"process.kill", "process.pause", "cpu.throttle"}) settings.policy.add_faults(kind);
  settings.policy.mutable_max_hold()->set_seconds(10);
  settings.patience.landing = std::chrono::milliseconds(400);
  settings.patience.undo = std::chrono::seconds(1);
  settings.patience.look = std::chrono::milliseconds(2);
  settings.patience.look_fine = std::chrono::microseconds(500);
  if (mutant == Mutant::kLateFire) settings.patience.fire_late = kNever;
  return settings;
}

bool Kills(const v1::UndoRecord& record) { return record.fault().kind() == "process.kill"; }

}  // namespace

// Acts on the node's one rank process: stops it, or ends it.
class Node::SimInjector final : public Injector {
 public:
  explicit SimInjector(Node& node) : node_(node) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    node_.Spend(20, 400);
    const bool same = node_.alive_ && fault.target().process().pid() == node_.pid_;
    if (!same && !node_.ground_.Is(Mutant::kStaleTarget)) return absl::NotFoundError("the process has ended");
    if (node_.state_ != State::kHealthy) return absl::FailedPreconditionError("it is stopped already");
    v1::UndoRecord record;
    *record.mutable_fault() = fault;
    record.set_resource(Cat("process/", fault.target().process().pid(), "/run-state"));
    record.set_by_hand("kill -CONT");
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    node_.Spend(5, 200);
    const bool same = node_.alive_ && record.fault().target().process().pid() == node_.pid_;
    if (!same && !node_.ground_.Is(Mutant::kStaleTarget)) return absl::NotFoundError("the process has ended");
    node_.CheckFire(record);
    if (node_.failing_applies > 0) {
      --node_.failing_applies;
      if (node_.ground_.random.Chance(0.5)) Make(record);
      return absl::InternalError("apply failed");
    }
    if (node_.lands) Make(record);
    node_.Spend(1, 50);
    return Ok();
  }

  Status Revert(const v1::UndoRecord& record) override {
    node_.Spend(5, 200);
    if (node_.failing_reverts > 0) {
      --node_.failing_reverts;
      node_.Disturb();
      node_.believed_.insert(record.fault().shot());
      return node_.ground_.Is(Mutant::kUndoUnseen) ? Ok() : absl::InternalError("revert failed");
    }
    if (Kills(record)) return Ok();
    const bool clobbers = node_.ground_.Is(Mutant::kRevertClobbers) && node_.state_ == State::kOthers;
    if (clobbers) node_.ground_.Violate(node_.name_, ": a revert took away what somebody else did");
    if (node_.ground_.Is(Mutant::kRevertToggles) && node_.state_ == State::kHealthy) {
      node_.state_ = State::kOurs;
      node_.held_by_ = record.fault().shot();
    } else if (node_.state_ == State::kOurs) {
      node_.state_ = State::kHealthy;
      node_.Cleared();
    }
    return Ok();
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    node_.Spend(5, 60);
    if (node_.failing_looks > 0) {
      --node_.failing_looks;
      node_.Disturb();
      return absl::InternalError("nothing could be seen");
    }
    if (node_.ground_.Is(Mutant::kUndoUnseen) && node_.believed_.contains(record.fault().shot())) {
      return Effect{Presence::kAbsent, ""};
    }
    const bool gone = !node_.alive_ || record.fault().target().process().pid() != node_.pid_;
    if (Kills(record)) return Effect{gone ? Presence::kPresent : Presence::kAbsent, ""};
    if (gone || node_.state_ == State::kHealthy) return Effect{Presence::kAbsent, ""};
    return Effect{node_.state_ == State::kOurs ? Presence::kPresent : Presence::kForeign, ""};
  }

 private:
  void Make(const v1::UndoRecord& record) {
    Truth& truth = node_.ground_.truth[record.fault().shot()];
    truth.applied = node_.TrueNow();
    if (Kills(record)) {
      node_.alive_ = false;
      truth.cleared = node_.TrueNow();
      node_.TellOfRank(false);
      return;
    }
    node_.state_ = State::kOurs;
    node_.held_by_ = record.fault().shot();
    truth.cleared.reset();
  }

  Node& node_;
};

class Node::NodeClock final : public triodrill::Clock {
 public:
  explicit NodeClock(const Node& node) : node_(node) {}
  TimePoint Now() override { return node_.Clock(); }

 private:
  const Node& node_;
};

Node::Node(Ground& ground, int number, const std::string& directory, Wire wire)
    : ground_(ground),
      number_(number),
      name_(Cat("n", number)),
      wire_(std::move(wire)),
      disk_(Cat(directory, "/", name_)),
      offset_(ground.random.Between(Nanos(std::chrono::seconds(1)), Nanos(std::chrono::hours(1000)))),
      drift_ppb_(ground.random.Between(-40'000, 40'000)),
      pid_(1000 * (number + 1)) {
  disk_.before_call = [this] {
    Spend(2, 300);
    Step();
  };
  disk_.forgets_directory_syncs = ground.Is(Mutant::kUnsyncedDirectory);
  disk_.forgets_file_syncs = ground.Is(Mutant::kUnsyncedFile);
}

TimePoint Node::Clock() const {
  const Nanos since = TrueNow().time_since_epoch();
  return TimePoint(since + offset_ + Nanos(since.count() / 1'000'000 * drift_ppb_ / 1000));
}

void Node::Spend(int64_t least_us, int64_t most_us) {
  spent_ += std::chrono::microseconds(ground_.random.Between(least_us, most_us));
}

void Node::Step() {
  if (!dies_after) return;
  if (--*dies_after > 0) return;
  dies_after.reset();
  disk_.dead = true;
  throw Died{};
}

std::unique_ptr<Injector> Node::MakeInjector() { return std::make_unique<SimInjector>(*this); }

// ---- the agent's life

std::vector<ReplayOutcome> Node::ReplayAll(UndoJournal& journal) {
  NodeClock clock(*this);
  return ReplayWith(
      journal, {[this](std::string_view) { return std::make_unique<SimInjector>(*this); }, clock, Cat("boot-", boot_)});
}

void Node::Start() {
  if (core_ != nullptr) return;
  const uint64_t life = ++life_;
  disk_.dead = false;
  spent_ = Nanos(0);
  try {
    if (ground_.Is(Mutant::kUnreadableIsDropped)) {
      const auto entries = ReadJournal(disk_.directory());
      for (const auto& entry : *entries) {
        if (!entry.record.ok()) disk_.Remove(entry.file);
      }
    }
    Result<std::unique_ptr<UndoJournal>> journal = UndoJournal::Open(disk_.directory(), disk_.Calls());
    if (!journal.ok()) {
      ground_.Log(name_, " cannot start: ", journal.status().message());
      ground_.schedule.In(std::chrono::seconds(1), [this, life] {
        if (life == life_) Start();
      });
      return;
    }
    journal_ = *std::move(journal);
    const TimePoint begun = Clock();
    std::vector<ReplayOutcome> replayed;
    if (!ground_.Is(Mutant::kNoReplay)) replayed = ReplayAll(*journal_);
    core_ = std::make_unique<agent::Core>(SettingsOf(name_, boot_, ground_.mutant), replayed, begun, Clock(),
                                          *ReadTraces(disk_.directory()));
    ground_.Log(name_, " starts, ", replayed.size(), " replayed");
  } catch (const Died&) {
    return Die("it died while it started");
  }
  busy_until_ = TrueNow();
  spent_ = Nanos(0);
  wire_.dial(number_);
}

void Node::Die(const std::string& why) {
  ground_.Log(name_, " dies: ", why);
  const uint64_t life = ++life_;
  gone_since_ = ground_.schedule.now();
  core_ = nullptr;
  journal_ = nullptr;
  spent_ = Nanos(0);
  watching_ = false;
  if (connected_) wire_.hang_up(number_);
  connected_ = false;
  Random& random = ground_.random;
  if (guarded) {
    ground_.schedule.In(random.Between(Nanos(std::chrono::milliseconds(1)), Nanos(std::chrono::milliseconds(40))),
                        [this, life] {
                          if (life == life_) Guard();
                        });
  }
  ground_.schedule.In(random.Between(Nanos(std::chrono::milliseconds(2)), Nanos(std::chrono::seconds(8))),
                      [this, life] {
                        if (life == life_) Start();
                      });
}

// triodrill-undo, which waited for the agent to be gone.
void Node::Guard() {
  disk_.dead = false;
  spent_ = Nanos(0);
  try {
    const Result<std::unique_ptr<UndoJournal>> journal = UndoJournal::Open(disk_.directory(), disk_.Calls());
    if (journal.ok()) {
      const size_t records = ReplayAll(**journal).size();
      ground_.Log(name_, "'s guardian replays ", records);
    }
  } catch (const Died&) {
    ground_.Log(name_, "'s guardian dies, too");
  }
  spent_ = Nanos(0);
}

void Node::LosePower() {
  ground_.Log(name_, " loses its power");
  Disturb();
  ++life_;
  gone_since_ = ground_.schedule.now();
  core_ = nullptr;
  journal_ = nullptr;
  spent_ = Nanos(0);
  connected_ = watching_ = false;  // nobody is told
  disk_.LosePower(ground_.random);
  if (state_ == State::kOurs) Cleared();
  state_ = State::kHealthy;
  alive_ = false;
  ++boot_;
  // The clock begins anew with the boot.
  offset_ = ground_.random.Between(Nanos(std::chrono::seconds(1)), Nanos(std::chrono::minutes(10))) -
            ground_.schedule.now().time_since_epoch();
  const uint64_t life = life_;
  const Nanos until = ground_.random.Between(Nanos(std::chrono::milliseconds(500)), Nanos(std::chrono::seconds(5)));
  ground_.schedule.In(until, [this, life] {
    if (life == life_) Start();
  });
  ground_.schedule.In(until + std::chrono::seconds(1), [this] {
    if (!alive_) StartRank();
  });
}

// ---- the wire

void Node::Connected() {
  if (core_ == nullptr || connected_) return;
  connected_ = true;
  Feed(agent::LinkUp{});
}

void Node::Disconnected() {
  if (!connected_) return;
  connected_ = watching_ = false;
  Feed(agent::LinkDown{});
  const uint64_t life = life_;
  ground_.schedule.In(
      ground_.random.Between(Nanos(std::chrono::milliseconds(50)), Nanos(std::chrono::milliseconds(500))),
      [this, life] {
        if (life == life_) wire_.dial(number_);
      });
}

void Node::Deliver(const v1::CoordinatorSays& says) {
  if (core_ == nullptr) return;
  heard_ = ground_.schedule.now();
  TimePoint at = Clock();
  if (ground_.Is(Mutant::kWallClockLease)) at += wall_step;
  if (says.has_arm()) fire_at_[says.arm().shot()] = says.arm().fire_at_node_ns();
  Feed(agent::Heard{says, at});
}

v1::ClockReply Node::Answer(const v1::ClockProbe& probe) const {
  v1::ClockReply reply;
  reply.set_sequence(probe.sequence());
  const Nanos since = ground_.schedule.now().time_since_epoch();
  const Nanos clock = since + offset_ + Nanos(since.count() / 1'000'000 * drift_ppb_ / 1000);
  reply.set_received_node_ns(clock.count());
  reply.set_sent_node_ns(clock.count());
  return reply;
}

}  // namespace triodrill::sim
