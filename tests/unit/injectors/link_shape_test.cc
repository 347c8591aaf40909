// The link faults that put a queueing discipline of theirs at the root: what is there before comes back.
#include <functional>
#include <vector>

#include "tests/unit/injectors/link_fault.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::LinkFault;
using testing::Message;
using testing::OwnNetwork;
using testing::RootQdisc;

class Rate : public LinkFault {
 protected:
  Rate() : LinkFault("link.rate") {}
  const std::string before_ = "noqueue 0";
};

TEST_F(Rate, IsSetReadsBackCountsAndGoes) {
  ASSERT_EQ(RootQdisc("trio0"), before_);
  const v1::UndoRecord record = Applied();
  EXPECT_THAT(RootQdisc("trio0"), HasSubstr("rate 1250000 burst 163")) << "10 Mbit/s, 16 KiB";
  EXPECT_EQ(See(record).presence, Presence::kPresent);
  EXPECT_THAT(See(record).evidence, HasSubstr("rate 10000000 bit/s, burst 16384 bytes; 0 packets"));
  EXPECT_EQ(testing::SendDatagram("10.77.0.10"), 0);
  EXPECT_TRUE(Eventually([&] { return See(record).evidence.find("0 packets") == std::string::npos; }));
  ExpectUndone(record);
  EXPECT_EQ(RootQdisc("trio0"), before_);
}

TEST_F(Rate, PutsBackASingleQdiscThatWasConfiguredBefore) {
  const std::vector<std::function<Status()>> configure = {
      [] { return testing::SetTbf("trio0", 0x00050000, 3'000'000, 20'000, 77'777); },
      [] { return testing::SetTbf("trio0", 0x80010000, 123'456'789, 1'234'567, 7'654'321); },
      [] { return testing::SetFifo("trio0", 0x00060000, "pfifo", 123); },
      [] { return testing::SetFifo("trio0", 0x80020000, "bfifo", 54'321); },
  };
  for (const auto& one : configure) {
    const Status set = one();
    ASSERT_TRUE(set.ok()) << set;
    const std::string before = RootQdisc("trio0");
    const v1::UndoRecord record = Applied();
    EXPECT_NE(RootQdisc("trio0"), before);
    EXPECT_THAT(record.by_hand(), HasSubstr("tc qdisc replace dev trio0 root handle"));
    ExpectUndone(record);
    EXPECT_EQ(RootQdisc("trio0"), before);
    ASSERT_TRUE(testing::DeleteRootQdisc("trio0").ok());
  }
}

TEST_F(Rate, RefusesATreeThatCouldNotBePutBack) {
  ASSERT_TRUE(testing::SetHtb("trio0", 0x00010000).ok());
  const std::string before = RootQdisc("trio0");
  EXPECT_THAT(Refusal(), HasSubstr("its root qdisc is htb 1:, which could not be put back exactly"));
  EXPECT_EQ(RootQdisc("trio0"), before);
  ASSERT_TRUE(testing::DeleteRootQdisc("trio0").ok());
  ASSERT_TRUE(testing::SetTbf("trio0", 0x00050000, 3'000'000, 20'000, 77'777).ok());
  ASSERT_TRUE(testing::SetFifoBelow("trio0", 0x00050001, 0x00060000).ok());
  EXPECT_THAT(Refusal(), HasSubstr("has others below it"));
}

TEST_F(Rate, ChangedBySomebodyElseIsForeignAndLeftAlone) {
  const v1::UndoRecord record = Applied();
  ASSERT_TRUE(testing::SetTbf("trio0", record.qdisc().ours(), 3'000'000, 20'000, 77'777).ok());
  const std::string theirs = RootQdisc("trio0");
  EXPECT_EQ(See(record).presence, Presence::kForeign);
  EXPECT_THAT(See(record).evidence, HasSubstr("other parameters"));
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(RootQdisc("trio0"), theirs);
}

TEST_F(Rate, ReplacedBySomebodyElseIsForeignAndLeftAlone) {
  const v1::UndoRecord record = Applied();
  ASSERT_TRUE(testing::SetFifo("trio0", 0x00060000, "pfifo", 123).ok());
  const std::string theirs = RootQdisc("trio0");
  EXPECT_EQ(See(record).presence, Presence::kForeign);
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(RootQdisc("trio0"), theirs);
}

TEST_F(Rate, WithSomebodysQdiscBelowItIsForeign) {
  const v1::UndoRecord record = Applied();
  ASSERT_TRUE(testing::SetFifoBelow("trio0", record.qdisc().ours() | 1, 0x00060000).ok());
  EXPECT_EQ(See(record).presence, Presence::kForeign);
  EXPECT_THAT(See(record).evidence, HasSubstr("below it"));
}

TEST_F(Rate, RemovedBySomebodyElseOwesNothing) {
  const v1::UndoRecord record = Applied();
  ASSERT_TRUE(testing::DeleteRootQdisc("trio0").ok());
  ExpectUndone(record);
}

TEST_F(Rate, IsNotSetOverAQdiscThatCameAfterPrepare) {
  const v1::UndoRecord record = Prepared();
  ASSERT_TRUE(testing::SetFifo("trio0", 0x00060000, "pfifo", 123).ok());
  EXPECT_THAT(Message(injector_->Apply(record)), HasSubstr("prepare again"));
  EXPECT_EQ(RootQdisc("trio0"), "pfifo 60000 limit 123");
}

TEST_F(Rate, OfAnInterfaceThatIsGoneOrAnothersOwesNothing) {
  const v1::UndoRecord record = Applied();
  ASSERT_TRUE(testing::DeleteLink("trio0").ok());
  ExpectUndone(record);
  ASSERT_TRUE(testing::MakePair("trio0", "trio1").ok());
  EXPECT_EQ(See(record).presence, Presence::kForeign);
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Rate, RefusesWhatTheOthersRefuseAndABurstTooSmall) {
  v1::AimedFault fault = Fault();
  fault.mutable_with()->mutable_link_rate()->set_burst(1000);
  EXPECT_THAT(Refusal(fault), HasSubstr("burst of 1000"));
  ExpectUnseenElsewhere(Prepared());
  ExpectTheCommonRefusals();
  EXPECT_EQ(RootQdisc("trio0"), before_);
}

// Skipped, with the kernel's reason, where it has no netem.
class NetemOnALink : public LinkFault, public ::testing::WithParamInterface<const char*> {
 protected:
  NetemOnALink() : LinkFault(GetParam()) {}
};

TEST_P(NetemOnALink, IsSetReadsBackAndGoes) {
  const std::string before = RootQdisc("trio0");
  const v1::UndoRecord record = Applied();
  EXPECT_THAT(RootQdisc("trio0"), HasSubstr("netem"));
  EXPECT_EQ(See(record).presence, Presence::kPresent) << See(record).evidence;
  ExpectUndone(record);
  EXPECT_EQ(RootQdisc("trio0"), before);
}

INSTANTIATE_TEST_SUITE_P(Each, NetemOnALink, ::testing::Values("link.delay", "link.loss", "link.corrupt"),
                         [](const auto& kind) { return std::string(kind.param).substr(5); });

TEST(NetemWhereTheKernelHasNone, IsRefusedBeforeAnythingIsChanged) {
  if (!OwnNetwork::entered.ok()) GTEST_SKIP() << OwnNetwork::entered;
  if (FindInjector("link.delay")->probe().possible()) GTEST_SKIP() << "this kernel has netem";
  ASSERT_TRUE(testing::MakePair("trio0", "trio1").ok());
  for (const char* kind : {"link.delay", "link.loss", "link.corrupt"}) {
    EXPECT_THAT(FindInjector(kind)->probe().reason(), HasSubstr("this kernel has no netem"));
    const auto record = FindInjector(kind)->make()->Prepare(Aim(kind, *IdentifyLink("trio0")));
    EXPECT_THAT(Message(record.status()), HasSubstr("this kernel has no netem"));
    EXPECT_EQ(RootQdisc("trio0"), "noqueue 0");
  }
  ASSERT_TRUE(testing::DeleteLink("trio0").ok());
}

}  // namespace
}  // namespace triodrill
