#include "injectors/link/flap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <set>

#include "injectors/link/flap_order.h"
#include "injectors/link/link_prior.h"
#include "injectors/process/helper.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/net.h"

namespace triodrill {
namespace {

using testing::AddAddress;
using testing::AddRoute;
using testing::Aim;
using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PriorOf;

constexpr const char* kProgram = TRIODRILL_BIN_DIR "/triodrill-flap";

class OwnNetwork : public ::testing::Environment {
 public:
  void SetUp() override { entered = testing::EnterOwnNetwork(); }
  static inline Status entered;
};
const auto* const kOwnNetwork = ::testing::AddGlobalTestEnvironment(new OwnNetwork);

class Flap : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!OwnNetwork::entered.ok()) GTEST_SKIP() << OwnNetwork::entered;
    const Status made = testing::MakePair("trio0", "trio1");
    if (!made.ok()) GTEST_SKIP() << made;
    ASSERT_TRUE(AddAddress("trio0", "10.77.0.12/24").ok());
    ASSERT_TRUE(AddRoute("trio0", {"10.88.0.0/16", "10.77.0.1"}).ok());
    ASSERT_TRUE(Eventually([&] {  // the kernel's own link-local address comes a little later
      const auto prior = PriorOf("trio0");
      if (prior.ok()) before_ = *prior;
      return prior.ok() && prior->addresses_size() == 2;
    }));
  }
  void TearDown() override { static_cast<void>(testing::DeleteLink("trio0")); }

  v1::UndoRecord Prepared(int count = 0) {
    v1::AimedFault fault = Aim("link.flap", *IdentifyLink("trio0"));
    fault.mutable_with()->mutable_link_flap()->set_count(count);
    auto record = injector_->Prepare(fault);
    EXPECT_TRUE(record.ok()) << record.status();
    if (!record.ok()) return {};
    record->set_max_hold_ns(Nanos(std::chrono::seconds(30)).count());
    return *record;
  }
  static std::vector<ProcessHandle> Programs(const v1::UndoRecord& record) {
    auto found = Helper(kFlapProgram, kFlapCount, kProgram).Find(record.flap().token());
    return found.ok() ? *std::move(found) : std::vector<ProcessHandle>{};
  }
  static int Downs(const v1::UndoRecord& record) {
    return Helper(kFlapProgram, kFlapCount, kProgram).Count(Programs(record));
  }
  void ExpectAsBefore() {
    const auto now = PriorOf("trio0");
    ASSERT_TRUE(now.ok()) << now.status();
    EXPECT_THAT(MissingFrom(before_, *now), IsEmpty());
    EXPECT_EQ(before_.flags(), now->flags());
  }

  v1::LinkPrior before_;
  const std::unique_ptr<Injector> injector_ = MakeLinkFlap(kProgram);
};

TEST_F(Flap, GoesDownAgainAndAgainAndComesBackWhole) {
  const v1::UndoRecord record = Prepared();
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  const Status applied = injector_->Apply(record);
  ASSERT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  EXPECT_TRUE(Eventually([&] { return Downs(record) >= 3; }));
  EXPECT_THAT(injector_->Inspect(record)->evidence, HasSubstr("seen down"));
  for (int again = 0; again < 2; ++again) {
    const Status reverted = injector_->Revert(record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    EXPECT_THAT(Programs(record), IsEmpty());
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
    ExpectAsBefore();
  }
}

TEST_F(Flap, StaysUpAfterAsManyTimesAsWereAsked) {
  const v1::UndoRecord record = Prepared(2);
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_TRUE(Eventually([&] { return Downs(record) == 2; }));
  EXPECT_TRUE(Eventually([&] {
    const auto now = PriorOf("trio0");
    return now.ok() && MissingFrom(before_, *now).empty() && now->flags() == before_.flags();
  }));
  EXPECT_EQ(Downs(record), 2);
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent) << "it has flapped, and is still held";
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
}

TEST_F(Flap, IsBroughtUpWholeByItsProgramIfTheProcessThatAskedDies) {
  const v1::UndoRecord record = Prepared();
  Child agent([&] {
    if (injector_->Apply(record).ok()) static_cast<void>(::raise(SIGKILL));
  });
  EXPECT_EQ(WTERMSIG(agent.Reap()), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
  ExpectAsBefore();
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Flap, IsBroughtUpByEitherOfItsTwoProcessesIfTheOtherIsKilled) {
  for (const bool flapper : {true, false}) {
    v1::UndoRecord record = Prepared();
    // Down for longer than this test waits: it is not the flap that brings it up.
    *record.mutable_fault()->mutable_with()->mutable_link_flap()->mutable_period() = ToProto(std::chrono::seconds(60));
    ASSERT_TRUE(injector_->Apply(record).ok());
    const std::vector<ProcessHandle> programs = Programs(record);
    ASSERT_EQ(programs.size(), 2u);
    for (const ProcessHandle& program : programs) {
      const auto stat = ReadProcessStat(program.identity().pid());
      ASSERT_TRUE(stat.ok());
      if (stat->name.starts_with(kFlapCount) != flapper) continue;
      EXPECT_TRUE(program.Signal(SIGKILL).ok());
    }
    EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
    ExpectAsBefore();
    EXPECT_TRUE(injector_->Revert(record).ok());
  }
}

TEST_F(Flap, IsUndoneFromTheRecordIfItsProgramIsKilledWhileItIsDown) {
  const v1::UndoRecord record = Prepared();
  ASSERT_TRUE(injector_->Apply(record).ok());
  for (const ProcessHandle& program : Programs(record)) EXPECT_TRUE(program.Signal(SIGKILL).ok());
  EXPECT_TRUE(Eventually([&] { return Programs(record).empty(); }));
  ASSERT_TRUE(testing::SetUp("trio0", false).ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kPresent);
  const Status reverted = injector_->Revert(record);
  ASSERT_TRUE(reverted.ok()) << reverted;
  ExpectAsBefore();
}

TEST_F(Flap, RefusesWhatLinkDownRefusesAndADutyThatIsNone) {
  v1::AimedFault fault = Aim("link.flap", *IdentifyLink("lo"));
  EXPECT_THAT(std::string(injector_->Prepare(fault).status().message()), HasSubstr("loopback"));
  fault = Aim("link.flap", *IdentifyLink("trio0"));
  for (const double duty : {0.0, 1.0, -1.0}) {
    fault.mutable_with()->mutable_link_flap()->set_duty(duty);
    EXPECT_TRUE(absl::IsInvalidArgument(injector_->Prepare(fault).status())) << duty;
  }
}

TEST(FlapOrder, SurvivesTheCommandLine) {
  FlapOrder order;
  order.common.token = "t";
  order.common.parent.set_pid(8);
  order.common.until = Nanos(9);
  for (const char* name : {"eth0", "tun0"}) {
    v1::LinkIdentity& link = order.links.emplace_back();
    link.set_name(name);
    link.set_ifindex(3);
    if (link.name() == "eth0") link.set_mac("02:00:00:00:00:01");
    link.set_net_namespace_inode(4026531840);
  }
  order.processes.emplace_back().set_pid(77);
  order.down = Nanos(5);
  order.up = Nanos(6);
  order.jitter_ppm = 250'000;
  order.seed = 77;
  std::vector<std::string> line = HelperArguments("p", order.common);
  for (const std::string& argument : FlapArguments(order)) line.push_back(argument);
  const auto parsed = ParseFlapArguments(line);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(FlapArguments(*parsed), FlapArguments(order));
  EXPECT_EQ(parsed->links.size(), 2u);
  for (const char* wrong : {"--link=4026531840/3/eth0", "--link=x/3//eth0", "--process=77", "--link=1/2//"}) {
    std::vector<std::string> worse = line;
    worse.push_back(wrong);
    EXPECT_FALSE(ParseFlapArguments(worse).ok()) << wrong;
  }
  line.push_back("--up-ns=0");
  EXPECT_FALSE(ParseFlapArguments(line).ok());
}

TEST(FlapOrder, JitterIsDrawnFromTheSeedAndKeepsItsBounds) {
  FlapOrder order;
  order.down = std::chrono::milliseconds(100);
  order.up = std::chrono::milliseconds(300);
  order.seed = 7;
  EXPECT_EQ(TimesOfCycle(order, 5).down, order.down) << "without jitter each is as asked for";
  order.jitter_ppm = 200'000;
  FlapOrder other = order;
  other.seed = 8;
  std::set<int64_t> downs;
  Nanos sum{0};
  bool differs = false;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    const FlapTimes times = TimesOfCycle(order, cycle);
    EXPECT_GE(times.down, std::chrono::milliseconds(80));
    EXPECT_LE(times.down, std::chrono::milliseconds(120));
    EXPECT_GE(times.up, std::chrono::milliseconds(240));
    EXPECT_LE(times.up, std::chrono::milliseconds(360));
    EXPECT_EQ(times.down, TimesOfCycle(order, cycle).down);
    differs = differs || times.down != TimesOfCycle(other, cycle).down;
    downs.insert(times.down.count());
    sum += times.down;
  }
  EXPECT_TRUE(differs);
  EXPECT_GT(downs.size(), 990u);
  EXPECT_NEAR(static_cast<double>(sum.count()) / 1000, 1e8, 2e6);
}

}  // namespace
}  // namespace triodrill
