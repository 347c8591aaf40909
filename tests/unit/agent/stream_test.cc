// A real fleet and a real agent over a real Unix socket; only the injector is a stand-in. Every wait is for an event.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>

#include "coordinator/fleet/fleet.h"
#include "injectors/agent/agent.h"
#include "injectors/agent/link.h"
#include "injectors/os/clock.h"
#include "tests/unit/agent/inbox.h"

namespace triodrill::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// A fault that is one bool.
struct Lamp {
  std::mutex mutex;
  std::condition_variable changed;
  bool lit = false;

  void Set(bool on) {
    const std::lock_guard lock(mutex);
    lit = on;
    changed.notify_all();
  }
  bool WaitUntil(bool on) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kPatience, [this, on] { return lit == on; });
  }
};

class LampInjector final : public Injector {
 public:
  explicit LampInjector(Lamp& lamp) : lamp_(lamp) {}
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    v1::UndoRecord record;
    record.set_format(1);
    *record.mutable_fault() = fault;
    record.set_boot_id("boot");
    record.set_resource("lamp");
    record.set_by_hand("turn it off");
    return record;
  }
  Status Apply(const v1::UndoRecord&) override {
    lamp_.Set(true);
    return Ok();
  }
  Status Revert(const v1::UndoRecord&) override {
    lamp_.Set(false);
    return Ok();
  }
  Result<Effect> Inspect(const v1::UndoRecord&) override {
    const std::lock_guard lock(lamp_.mutex);
    return Effect{lamp_.lit ? Presence::kPresent : Presence::kAbsent, lamp_.lit ? "it is lit" : "it is dark"};
  }

 private:
  Lamp& lamp_;
};

class StreamTest : public testing::Test {
 protected:
  StreamTest() {
    char path[] = "/tmp/triodrill-stream-XXXXXX";
    directory_ = mkdtemp(path);
    socket_ = directory_ + "/s";
  }
  ~StreamTest() override {
    agent_ = nullptr;
    fleet_ = nullptr;
    journal_ = nullptr;
    std::filesystem::remove_all(directory_);
  }

  fleet::Options FleetOptions() const {
    return {.socket_path = socket_,
            .run_id = "r1",
            .lease = lease_,
            .nodes = {"n1"},
            .measure_every = seconds(5),
            .exchanges = 16,
            .drift_ppb = fleet::kDefaultDriftPpb};
  }
  void StartFleet() {
    auto fleet = Fleet::Listen(FleetOptions(), clock_, [this](AgentEvent event) { inbox_.Put(std::move(event)); });
    ASSERT_TRUE(fleet.ok()) << fleet.status();
    fleet_ = *std::move(fleet);
  }
  AgentParts Parts(const std::string& node, UndoJournal& journal) {
    Settings settings{
        .node = node, .version = "1", .boot_id = "boot", .policy = {}, .capabilities = {}, .patience = {}};
    settings.patience.fire_late = seconds(5);  // this machine may be busy; nothing here measures it
    settings.policy.set_shadow(true);
    settings.policy.add_faults("process.pause");
    settings.policy.mutable_max_hold()->set_seconds(600);
    return {.settings = std::move(settings),
            .coordinator = "unix:" + socket_,
            .clock = clock_,
            .journal = journal,
            .replayed = {},
            .make = [this](std::string_view) { return std::make_unique<LampInjector>(lamp_); },
            .protect = [](const v1::AimedFault&) { return Ok(); }};
  }
  void StartAgent() {
    auto journal = UndoJournal::Open(directory_ + "/journal");
    ASSERT_TRUE(journal.ok()) << journal.status();
    journal_ = *std::move(journal);
    auto agent = Agent::Start(Parts("n1", *journal_));
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
  }
  void Send(const v1::CoordinatorSays& says) {
    const Status sent = fleet_->Send("n1", says);
    EXPECT_TRUE(sent.ok()) << sent;
  }
  void Prepare(const std::string& shot) {
    v1::CoordinatorSays says;
    v1::AimedFault& fault = *says.mutable_prepare()->mutable_fault();
    fault.set_shot(shot);
    fault.set_run_id("r1");
    fault.set_kind("process.pause");
    fault.mutable_with()->mutable_process_pause();
    fault.mutable_target()->mutable_process()->set_pid(1);
    Send(says);
    EXPECT_EQ(inbox_.Await(&v1::AgentSays::has_prepared).said.prepared().problem(), "");
  }
  void Arm(const std::string& shot, TimePoint fire_at) {
    const auto offset = fleet_->Offset("n1");
    ASSERT_TRUE(offset.ok()) << offset.status();
    v1::CoordinatorSays says;
    says.mutable_arm()->set_shot(shot);
    says.mutable_arm()->set_fire_at_node_ns(fleet::ToNode(*offset, fire_at));
    Send(says);
  }
  // A fault is there, and the coordinator knows.
  void Hold(const std::string& shot) {
    StartFleet();
    StartAgent();
    inbox_.Await(Kind::kConnected);
    Prepare(shot);
    Arm(shot, clock_.Now() + seconds(1));
    EXPECT_EQ(inbox_.Await(&v1::AgentSays::has_armed).said.armed().problem(), "");
    EXPECT_EQ(inbox_.Await(&v1::AgentSays::has_landed).said.landed().problem(), "");
  }
  bool NothingIsOwed() { return ReadJournal(directory_ + "/journal")->empty(); }

  SystemClock clock_;
  Nanos lease_ = seconds(30);
  std::string directory_;
  std::string socket_;
  Lamp lamp_;
  Inbox inbox_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<UndoJournal> journal_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(StreamTest, ABurstBoundsTheOffsetOfOneClockAroundZero) {
  StartFleet();
  StartAgent();
  const AgentEvent connected = inbox_.Await(Kind::kConnected);
  EXPECT_EQ(connected.node, "n1");
  EXPECT_EQ(connected.said.hello().boot_id(), "boot");
  EXPECT_EQ(connected.offset.exchanges, 16);
  EXPECT_LE(connected.offset.earliest, Nanos(0));
  EXPECT_GE(connected.offset.latest, Nanos(0));
  EXPECT_EQ(inbox_.Await(Kind::kClock).problem, "");
  EXPECT_THAT(fleet_->Connected(), testing::ElementsAre("n1"));
  RecordProperty("offset_width_us", static_cast<int>(connected.offset.Width().count() / 1000));

  ASSERT_TRUE(fleet_->Measure("n1").ok());
  const AgentEvent again = inbox_.Await(Kind::kClock);
  EXPECT_EQ(again.offset.exchanges, 32);
  EXPECT_LE(again.offset.earliest, Nanos(0));
  EXPECT_GE(again.offset.latest, Nanos(0));
}

TEST_F(StreamTest, TakesAFaultFromPrepareToReverted) {
  StartFleet();
  StartAgent();
  inbox_.Await(Kind::kConnected);
  Prepare("1.a.0");
  EXPECT_TRUE(NothingIsOwed());
  const TimePoint fire_at = clock_.Now() + milliseconds(500);
  Arm("1.a.0", fire_at);
  EXPECT_EQ(inbox_.Await(&v1::AgentSays::has_armed).said.armed().problem(), "");
  const AgentEvent landed = inbox_.Await(&v1::AgentSays::has_landed);
  EXPECT_EQ(landed.said.landed().problem(), "");
  EXPECT_EQ(landed.said.landed().evidence(), "it is lit");
  EXPECT_TRUE(lamp_.WaitUntil(true));
  EXPECT_FALSE(NothingIsOwed());

  // The onset on the coordinator's clock, which is the same clock here.
  const Instant onset = fleet::ToCoordinator(landed.offset, landed.said.landed().at());
  EXPECT_GE(onset.latest, fire_at - landed.offset.Width());
  EXPECT_LE(onset.earliest, landed.at);
  RecordProperty("onset_width_us", static_cast<int>(onset.Width().count() / 1000));

  v1::CoordinatorSays revert;
  revert.mutable_revert()->set_shot("1.a.0");
  Send(revert);
  const AgentEvent reverted = inbox_.Await(&v1::AgentSays::has_reverted);
  EXPECT_TRUE(reverted.said.reverted().confirmed());
  EXPECT_EQ(reverted.said.reverted().reason(), "asked");
  EXPECT_TRUE(lamp_.WaitUntil(false));
  EXPECT_TRUE(NothingIsOwed());
}

TEST_F(StreamTest, ReportsAMissedShotAndFiresNothing) {
  StartFleet();
  StartAgent();
  inbox_.Await(Kind::kConnected);
  Prepare("1.a.0");
  Arm("1.a.0", clock_.Now() - milliseconds(1));
  const AgentEvent missed = inbox_.Await(&v1::AgentSays::has_missed);
  EXPECT_GT(missed.said.missed().late_ns(), 0);
  EXPECT_TRUE(agent_->ShutDown());
  EXPECT_FALSE(lamp_.lit);
}

TEST_F(StreamTest, GoodbyeRevertsWhatIsOpen) {
  Hold("1.a.0");
  fleet_ = nullptr;
  EXPECT_TRUE(lamp_.WaitUntil(false));
  EXPECT_FALSE(std::filesystem::exists(socket_)) << "the socket is removed";
}

TEST_F(StreamTest, ShutDownRevertsAndTheCoordinatorHearsOfIt) {
  Hold("1.a.0");
  EXPECT_TRUE(agent_->ShutDown());
  EXPECT_FALSE(lamp_.lit);
  EXPECT_EQ(inbox_.Await(&v1::AgentSays::has_reverted).said.reverted().reason(), "shutdown");
  EXPECT_THAT(inbox_.Await(Kind::kLost).problem, HasSubstr("broke"));
  EXPECT_TRUE(NothingIsOwed());
}

TEST_F(StreamTest, ComesBackToACoordinatorThatComesBack) {
  StartFleet();
  StartAgent();
  inbox_.Await(Kind::kConnected);
  fleet_ = nullptr;
  StartFleet();
  inbox_.Await(Kind::kConnected);
  Prepare("1.a.0");
}

TEST_F(StreamTest, WaitsForACoordinatorThatIsNotThereYet) {
  StartAgent();
  StartFleet();
  EXPECT_EQ(inbox_.Await(Kind::kConnected).node, "n1");
}

// A coordinator that is there no more, without a word.
TEST_F(StreamTest, RevertsWhenTheCoordinatorDies) {
  std::string arguments[] = {TRIODRILL_DYING_COORDINATOR, socket_, "n1"};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  pid_t coordinator = 0;
  ASSERT_EQ(posix_spawn(&coordinator, argv[0], nullptr, nullptr, argv, environ), 0);
  StartAgent();
  EXPECT_TRUE(lamp_.WaitUntil(true));
  int status = 0;
  ASSERT_EQ(waitpid(coordinator, &status, 0), coordinator);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it was to die after the landing";
  EXPECT_TRUE(lamp_.WaitUntil(false)) << "when the lease is over";
  EXPECT_TRUE(agent_->ShutDown());
  EXPECT_TRUE(NothingIsOwed());
  // The socket of the dead does not keep the next one away.
  EXPECT_TRUE(std::filesystem::exists(socket_));
  StartFleet();
}

// ---- who may attach

class Stranger {
 public:
  Stranger(const std::string& socket, Clock& clock, const std::string& node) {
    Link::Listener listener;
    listener.up = [node](Link& link) {
      v1::AgentSays says;
      says.mutable_hello()->set_node(node);
      link.Say(says);
    };
    listener.heard = [this](const v1::CoordinatorSays&, TimePoint) { Note("heard"); };
    listener.down = [this](const std::string& why) { Note(why); };
    link_ = *Link::Dial("unix:" + socket, clock, std::move(listener));
  }
  void Say(v1::AgentSays what) { link_->Say(std::move(what)); }
  std::string Await() {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, kPatience, [this] { return !note_.empty(); });
    return note_;
  }

 private:
  void Note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (note_.empty()) note_ = what;
    came_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable came_;
  std::string note_;
  std::unique_ptr<Link> link_;
};

TEST_F(StreamTest, RefusesASecondAgentOfANode) {
  StartFleet();
  StartAgent();
  inbox_.Await(Kind::kConnected);
  Stranger second(socket_, clock_, "n1");
  EXPECT_THAT(second.Await(), HasSubstr("attached already"));
  EXPECT_EQ(inbox_.Count(Kind::kLost), 0u) << "the first one stays";
  Prepare("1.a.0");
}

TEST_F(StreamTest, RefusesANodeThatIsNotOfThePartition) {
  StartFleet();
  Stranger stranger(socket_, clock_, "n9");
  EXPECT_THAT(stranger.Await(), HasSubstr("not of this partition"));
  EXPECT_EQ(inbox_.Count(Kind::kConnected), 0u);
}

TEST_F(StreamTest, NoticesAnAgentThatFallsSilent) {
  lease_ = seconds(2);
  StartFleet();
  Stranger silent(socket_, clock_, "n1");  // answers the clock, and never says a heartbeat
  inbox_.Await(Kind::kConnected);
  EXPECT_THAT(inbox_.Await(Kind::kLost).problem, HasSubstr("silent"));
  EXPECT_FALSE(fleet_->Send("n1", {}).ok());
}

TEST_F(StreamTest, EndsThoughWhatAgentsSaidIsStillUnread) {
  // Whoever hears of the agent is busy for longer than the fleet's patience; then comes what was said meanwhile.
  std::promise<void> entered;
  auto fleet = Fleet::Listen(FleetOptions(), clock_, [&](const AgentEvent& event) {
    if (event.kind != Kind::kConnected) return;
    entered.set_value();
    LookUntil(seconds(2), [] { return false; });
  });
  Stranger agent(socket_, clock_, "n1");
  ASSERT_EQ(entered.get_future().wait_for(kPatience), std::future_status::ready);
  agent.Say(v1::AgentSays());
  *fleet = nullptr;
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(StreamTest, DialsUnixSocketsOnly) {
  for (const char* target : {"dns:///example.org:1", "127.0.0.1:50051", "unix:relative", "/bare/path"}) {
    EXPECT_FALSE(Link::Dial(target, clock_, {}).ok()) << target;
  }
}

// ---- where it listens

TEST_F(StreamTest, ListensOnlyWhereNobodyElseCanReach) {
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  const auto open_to_all = Fleet::Listen(FleetOptions(), clock_, [](const AgentEvent&) {});
  EXPECT_THAT(std::string(open_to_all.status().message()), HasSubstr("chmod 700"));
}

TEST_F(StreamTest, LeavesALivingCoordinatorAlone) {
  StartFleet();
  const auto second = Fleet::Listen(FleetOptions(), clock_, [](const AgentEvent&) {});
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another coordinator"));
  StartAgent();
  inbox_.Await(Kind::kConnected);
}

TEST_F(StreamTest, LeavesWhatIsNotASocketAlone) {
  { std::ofstream(socket_) << "precious"; }
  const auto listen = Fleet::Listen(FleetOptions(), clock_, [](const AgentEvent&) {});
  EXPECT_THAT(std::string(listen.status().message()), HasSubstr("not a socket"));
  EXPECT_TRUE(std::filesystem::exists(socket_));
}

TEST_F(StreamTest, RefusesAPathThatCannotBeBound) {
  for (const std::string& path : {std::string("unix:/x"), std::string("relative"), "/tmp/" + std::string(200, 'x')}) {
    fleet::Options options = FleetOptions();
    options.socket_path = path;
    EXPECT_FALSE(Fleet::Listen(options, clock_, [](const AgentEvent&) {}).ok()) << path;
  }
}

}  // namespace
}  // namespace triodrill::agent
