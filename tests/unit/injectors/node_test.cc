#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "injectors/link/flap_order.h"
#include "injectors/link/link_prior.h"
#include "injectors/link/taken_links.h"
#include "injectors/node/flapping.h"
#include "injectors/node/lost.h"
#include "injectors/process/helper.h"
#include "injectors/process/target.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/net.h"

namespace triodrill {
namespace {

using testing::AddAddress;
using testing::AddRoute;
using testing::Aim;
using testing::Child;
using ::testing::ElementsAre;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::KillUnawares;
using testing::NodeJobName;
using testing::PriorOf;

constexpr const char* kProgram = TRIODRILL_BIN_DIR "/triodrill-flap";

class OwnNetwork : public ::testing::Environment {
 public:
  void SetUp() override { entered = testing::EnterOwnNetwork(); }
  static inline Status entered;
};
const auto* const kOwnNetwork = ::testing::AddGlobalTestEnvironment(new OwnNetwork);

// A pair of links, both of this network, and the job: two processes.
class Node : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!OwnNetwork::entered.ok()) GTEST_SKIP() << OwnNetwork::entered;
    const Status made = testing::MakePair("trio0", "trio1");
    if (!made.ok()) GTEST_SKIP() << made;
    ASSERT_TRUE(AddAddress("trio0", "10.77.0.12/24").ok());
    ASSERT_TRUE(AddAddress("trio1", "10.78.0.12/24").ok());
    ASSERT_TRUE(AddRoute("trio0", {"10.88.0.0/16", "10.77.0.1"}).ok());
    Remember();
    job_.emplace(Child::Named(NodeJobName()));
    other_.emplace(Child::Named(NodeJobName()));
  }
  void TearDown() override {
    SetProtectedCommands({});
    SetProtectedInterfaces({});
    static_cast<void>(testing::DeleteLink("trio0"));
  }

  void Remember() {
    ASSERT_TRUE(Eventually([&] {  // the kernel's own link-local addresses come a little later
      for (const char* name : {"trio0", "trio1"}) {
        const auto prior = PriorOf(name);
        if (!prior.ok() || prior->addresses_size() != 2 || (prior->flags() & IFF_RUNNING) == 0) return false;
        before_[name] = *prior;
      }
      return true;
    }));
  }
  void ExpectLinksAsBefore() {
    for (const auto& [name, before] : before_) {
      const auto now = PriorOf(name);
      ASSERT_TRUE(now.ok()) << now.status();
      EXPECT_THAT(MissingFrom(before, *now), IsEmpty()) << name;
      EXPECT_EQ(before.flags(), now->flags()) << name;
    }
  }
  v1::UndoRecord Prepared(Injector& injector, const v1::AimedFault& fault) {
    auto record = injector.Prepare(fault);
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(60)).count());
    return *record;
  }
  std::string Refusal(Injector& injector, const v1::AimedFault& fault) {
    const auto record = injector.Prepare(fault);
    return record.ok() ? "(prepared)" : std::string(record.status().message());
  }
  bool Up(const char* name) {
    const auto prior = PriorOf(name);
    return prior.ok() && (prior->flags() & IFF_UP) != 0;
  }

  std::map<std::string, v1::LinkPrior> before_;
  std::optional<Child> job_;
  std::optional<Child> other_;
};

class NodeLost : public Node {
 protected:
  v1::AimedFault Fault() const { return Aim("node.lost", job_->identity()); }
  const std::unique_ptr<Injector> injector_ = MakeNodeLost();
};

TEST_F(NodeLost, LosesAllLinksAndTheWholeJobAndGivesTheLinksBackWhole) {
  const Child bystander = Child::Named(NodeJobName() + "-other");
  const v1::UndoRecord record = Prepared(*injector_, Fault());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  const Child late = Child::Named(NodeJobName());  // not in the record
  const Status applied = injector_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_TRUE(Eventually([&] {
    const auto effect = injector_->Inspect(record);
    return effect.ok() && effect->presence == Presence::kPresent;
  })) << injector_->Inspect(record).status();
  EXPECT_EQ(injector_->Inspect(record)->evidence, "2 of 2 links down; 2 of 2 processes ended");
  for (const char* name : {"trio0", "trio1"}) EXPECT_FALSE(Up(name)) << name;
  EXPECT_TRUE(Eventually([&] { return late.State() == 'Z'; }));
  EXPECT_NE(bystander.State(), 'Z');
  for (int again = 0; again < 2; ++again) {
    const Status reverted = injector_->Revert(record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
    ExpectLinksAsBefore();
  }
}

TEST_F(NodeLost, IsNeitherThereNorGoneWhileItIsLostByHalf) {
  const v1::UndoRecord record = Prepared(*injector_, Fault());
  ASSERT_TRUE(testing::SetUp("trio1", false).ok());
  const auto effect = injector_->Inspect(record);
  EXPECT_FALSE(effect.ok());
  EXPECT_THAT(std::string(effect.status().message()), HasSubstr("by half: 1 of 2 links down; 0 of 2 processes ended"));
  const Status reverted = injector_->Revert(record);
  ASSERT_TRUE(reverted.ok()) << reverted;
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  ExpectLinksAsBefore();
}

TEST_F(NodeLost, ChangesNothingIfALinkOfTheRecordIsNotThereAnyMore) {
  const v1::UndoRecord record = Prepared(*injector_, Fault());
  ASSERT_TRUE(testing::DeleteLink("trio0").ok());
  ASSERT_TRUE(testing::MakePair("trio0", "trio1").ok());  // of the same names
  EXPECT_FALSE(injector_->Apply(record).ok());
  EXPECT_TRUE(Up("trio0") && Up("trio1"));
  EXPECT_NE(job_->State(), 'Z');
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kForeign);
}

TEST_F(NodeLost, GivesAVlanBackThatStandsOnALostLink) {
  const Status made = testing::MakeVlan("trio0.5", "trio0", 5);
  if (!made.ok()) GTEST_SKIP() << made;
  ASSERT_TRUE(AddAddress("trio0.5", "10.79.0.12/24").ok());
  ASSERT_TRUE(testing::SetUp("trio0.5", true).ok());
  ASSERT_TRUE(AddRoute("trio0.5", {"10.90.0.0/16", "10.79.0.1"}).ok());
  ASSERT_TRUE(Eventually([&] {
    const auto prior = PriorOf("trio0.5");
    if (prior.ok()) before_["trio0.5"] = *prior;
    return prior.ok() && prior->addresses_size() == 2;
  }));
  const v1::UndoRecord record = Prepared(*injector_, Fault());
  ASSERT_EQ(record.node().links_size(), 3);
  EXPECT_EQ(record.node().links(2).link().name(), "trio0.5");
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_FALSE(Up("trio0.5"));
  const Status reverted = injector_->Revert(record);
  ASSERT_TRUE(reverted.ok()) << reverted;
  ExpectLinksAsBefore();
}

TEST_F(NodeLost, GivesABridgeBackAndItsPort) {
  const Status made = testing::MakeBridge("trio-br", "trio0");
  if (!made.ok()) GTEST_SKIP() << made;
  ASSERT_TRUE(AddAddress("trio-br", "10.79.0.12/24").ok());
  ASSERT_TRUE(testing::SetUp("trio-br", true).ok());
  ASSERT_TRUE(AddRoute("trio-br", {"10.90.0.0/16", "10.79.0.1"}).ok());
  ASSERT_TRUE(Eventually([&] {
    const auto prior = PriorOf("trio-br");
    if (prior.ok()) before_["trio-br"] = *prior;
    return prior.ok() && prior->addresses_size() == 2 && (prior->flags() & IFF_RUNNING) != 0;
  }));
  const v1::UndoRecord record = Prepared(*injector_, Fault());
  ASSERT_EQ(record.node().links_size(), 3);
  EXPECT_EQ(record.node().links(2).link().name(), "trio-br") << "what it stands on comes first";
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_FALSE(Up("trio-br"));
  const Status reverted = injector_->Revert(record);
  ASSERT_TRUE(reverted.ok()) << reverted;
  ExpectLinksAsBefore();
  EXPECT_TRUE(testing::DeleteLink("trio-br").ok());
}

TEST_F(NodeLost, RefusesANodeWithoutALinkThatMayBeTaken) {
  ASSERT_TRUE(AddRoute("trio0", {"default", "10.77.0.1"}).ok());
  EXPECT_THAT(Refusal(*injector_, Fault()),
              AllOf(HasSubstr("no link of this node may be taken down"), HasSubstr("lo: "),
                    HasSubstr("trio0: the default route goes over it"), HasSubstr("trio1: trio0 needs it")));
}

TEST_F(NodeLost, SparesTheInterfacesThatTheNodesPolicyProtects) {
  SetProtectedInterfaces({"trio1"});
  EXPECT_THAT(Refusal(*injector_, Fault()),
              AllOf(HasSubstr("trio1: this node's policy protects it"), HasSubstr("trio0: trio1 needs it")));
}

TEST_F(NodeLost, LeavesAloneWhatThePolicyProtectsAndRefusesItAsTarget) {
  v1::AimedFault fault = Fault();
  fault.mutable_with()->mutable_node_lost()->set_match(Cat("^", NodeJobName()));
  const Child watched = Child::Named(NodeJobName() + "-watched");
  SetProtectedCommands({"-watched "});
  const v1::UndoRecord record = Prepared(*injector_, fault);
  EXPECT_EQ(record.node().processes_size(), 2);
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_TRUE(Eventually([&] { return job_->State() == 'Z' && other_->State() == 'Z'; }));
  EXPECT_NE(watched.State(), 'Z');
  EXPECT_TRUE(injector_->Revert(record).ok());
  *fault.mutable_target()->mutable_process() = watched.identity();
  EXPECT_THAT(Refusal(*injector_, fault), HasSubstr("is none of those that match"));
}

TEST_F(NodeLost, RefusesAPatternThatIsNoneOrDoesNotMatchTheTarget) {
  v1::AimedFault fault = Fault();
  std::string& match = *fault.mutable_with()->mutable_node_lost()->mutable_match();
  for (const auto& [pattern, why] : std::map<std::string, std::string>{{"", "the pipeline's profile gives none either"},
                                                                       {"(", "missing )"},
                                                                       {"^nobody$", "none of those that match"}}) {
    match = pattern;
    EXPECT_THAT(Refusal(*injector_, fault), HasSubstr(why)) << pattern;
  }
}

TEST_F(NodeLost, HoldsEachLinkAndEachProcessAsAResourceOfItsOwn) {
  const v1::UndoRecord record = Prepared(*injector_, Fault());
  EXPECT_THAT(record.further_resources(),
              ElementsAre(LinkResource(record.node().links(0).link()), LinkResource(record.node().links(1).link()),
                          ProcessResource(record.node().processes(0), "run-state"),
                          ProcessResource(record.node().processes(1), "run-state")));
}

class NodeFlapping : public Node {
 protected:
  v1::AimedFault Fault(Nanos period = std::chrono::milliseconds(400)) const {
    v1::AimedFault fault = Aim("node.flapping", job_->identity());
    *fault.mutable_with()->mutable_node_flapping()->mutable_period() = ToProto(period);
    return fault;
  }
  // Away for longer than a test waits: it is not the flapping that brings it back.
  v1::UndoRecord AwayForLong() {
    const v1::UndoRecord record = Prepared(*injector_, Fault(std::chrono::seconds(80)));
    const Status applied = injector_->Apply(record);
    EXPECT_TRUE(applied.ok()) << applied;
    EXPECT_TRUE(Away());
    return record;
  }
  bool Away() { return !Up("trio0") && !Up("trio1") && job_->State() == 'T' && other_->State() == 'T'; }
  void ExpectAllAsBefore() {
    ExpectLinksAsBefore();
    EXPECT_EQ(job_->State(), 'S');
    EXPECT_EQ(other_->State(), 'S');
  }
  std::vector<ProcessHandle> Programs(const v1::UndoRecord& record) {
    auto found = helper_.Find(record.node().token());
    return found.ok() ? *std::move(found) : std::vector<ProcessHandle>{};
  }

  const Helper helper_{kFlapProgram, kFlapCount, kProgram};
  const std::unique_ptr<Injector> injector_ = MakeNodeFlapping(kProgram);
};

TEST_F(NodeFlapping, GoesAwayAgainAndAgainAndComesBackWhole) {
  const v1::UndoRecord record = Prepared(*injector_, Fault());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  const Status applied = injector_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("all links down and 2 processes stopped"));
  EXPECT_TRUE(Eventually([&] { return helper_.Count(Programs(record)) >= 2; }));
  for (int again = 0; again < 2; ++again) {
    const Status reverted = injector_->Revert(record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    EXPECT_THAT(Programs(record), IsEmpty());
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
    ExpectAllAsBefore();
  }
}

TEST_F(NodeFlapping, GoesOnWithoutAProcessThatHasEnded) {
  const v1::UndoRecord record = Prepared(*injector_, Fault());
  ASSERT_TRUE(injector_->Apply(record).ok());
  job_->Kill();
  const int seen = helper_.Count(Programs(record));
  EXPECT_TRUE(Eventually([&] { return helper_.Count(Programs(record)) >= seen + 2; }));
  EXPECT_TRUE(injector_->Revert(record).ok());
  ExpectLinksAsBefore();
  EXPECT_EQ(other_->State(), 'S');
}

TEST_F(NodeFlapping, IsLetRunByItsProgramIfTheProcessThatAskedDies) {
  std::optional<v1::UndoRecord> record = Prepared(*injector_, Fault(std::chrono::seconds(80)));
  Child agent([&] {
    if (injector_->Apply(*record).ok() && Away()) ::raise(SIGKILL);
  });
  EXPECT_EQ(WTERMSIG(agent.Reap()), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Programs(*record).empty(); }));
  ExpectAllAsBefore();
}

TEST_F(NodeFlapping, IsLetRunByEitherOfItsTwoProcessesIfTheOtherIsKilled) {
  for (const bool flapper : {true, false}) {
    const v1::UndoRecord record = AwayForLong();
    const std::vector<ProcessHandle> programs = Programs(record);
    ASSERT_EQ(programs.size(), 2u);
    for (const ProcessHandle& program : programs) {
      const auto stat = ReadProcessStat(program.identity().pid());
      ASSERT_TRUE(stat.ok());
      if (stat->name.starts_with(kFlapCount) != flapper) continue;
      EXPECT_TRUE(program.Signal(SIGKILL).ok());
    }
    EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
    ExpectAllAsBefore();
    EXPECT_TRUE(injector_->Revert(record).ok());
  }
}

TEST_F(NodeFlapping, IsUndoneFromTheRecordIfBothOfItsProcessesAreKilled) {
  const v1::UndoRecord record = AwayForLong();
  std::vector<pid_t> programs;
  for (const ProcessHandle& program : Programs(record)) programs.push_back(program.identity().pid());
  ASSERT_TRUE(KillUnawares(programs));
  ASSERT_TRUE(Eventually([&] { return Programs(record).empty(); }));
  EXPECT_TRUE(Away());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  const Status reverted = injector_->Revert(record);
  ASSERT_TRUE(reverted.ok()) << reverted;
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  ExpectAllAsBefore();
}

TEST_F(NodeFlapping, RefusesAProcessThatIsStoppedAlreadyAndADutyThatIsNone) {
  v1::AimedFault fault = Fault();
  fault.mutable_with()->mutable_node_flapping()->set_duty(1);
  EXPECT_THAT(Refusal(*injector_, fault), HasSubstr("a duty between 0 and 1"));
  ::kill(other_->pid(), SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return other_->State() == 'T'; }));
  EXPECT_THAT(Refusal(*injector_, Fault()), HasSubstr("stopped already"));
}

}  // namespace
}  // namespace triodrill
