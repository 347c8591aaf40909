// link.partition and link.blackhole: who is cut off, who is not, and that both are undone whole.
#include <cerrno>

#include "tests/unit/injectors/link_fault.h"

namespace triodrill {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;
using testing::LinkFault;
using testing::Message;
using testing::RoutesTo;

class Partition : public LinkFault {
 protected:
  Partition() : LinkFault("link.partition") {}
  v1::AimedFault Cut(v1::Direction direction) const {
    v1::AimedFault fault = Fault();
    fault.mutable_with()->mutable_link_partition()->set_direction(direction);
    return fault;
  }
  // A packet of the peer, as it comes in over the wire. What is sent while the kernel has not yet given the peer's new
  // interface a queue is lost without a word: it is sent again.
  void Hear(const std::string& from) const {
    const testing::Tap tap("trio0");
    ASSERT_TRUE(Eventually([&] {
      const Status sent = testing::SendFrame("trio1", IdentifyLink("trio0")->mac(), from, "10.77.0.12");
      return sent.ok() && tap.Heard(from);
    }));
  }
};

TEST_F(Partition, CutsBothWaysAndNobodyElseAndGoesWhole) {
  const v1::UndoRecord record = Applied();
  EXPECT_EQ(See(record).presence, Presence::kPresent);
  EXPECT_THAT(See(record).evidence, HasSubstr("no packet met it yet"));
  EXPECT_EQ(testing::SendDatagram("10.77.0.10"), EPERM);
  EXPECT_EQ(testing::SendDatagram("10.77.0.11"), 0) << "nobody cut that one";
  EXPECT_THAT(See(record).evidence, HasSubstr("1 packets dropped"));
  Hear("10.77.0.10");
  Hear("10.77.0.11");
  EXPECT_TRUE(Eventually([&] { return See(record).evidence.find("2 packets dropped") != std::string::npos; }));
  ExpectUndone(record);
  EXPECT_EQ(testing::SendDatagram("10.77.0.10"), 0);
}

TEST_F(Partition, OneWayIsOneWay) {
  v1::UndoRecord record = Applied(Cut(v1::INBOUND));
  EXPECT_EQ(testing::SendDatagram("10.77.0.10"), 0);
  Hear("10.77.0.10");
  EXPECT_TRUE(Eventually([&] { return See(record).evidence.find("1 packets dropped") != std::string::npos; }));
  ExpectUndone(record);
  record = Applied(Cut(v1::OUTBOUND));
  EXPECT_EQ(testing::SendDatagram("10.77.0.10"), EPERM);
  Hear("10.77.0.10");
  EXPECT_THAT(See(record).evidence, HasSubstr("1 packets dropped"));
  ExpectUndone(record);
}

TEST_F(Partition, OfNetworksAndIPv6) {
  v1::AimedFault fault = Fault();
  auto& with = *fault.mutable_with()->mutable_link_partition();
  with.add_peers("10.77.0.0/26");
  with.add_peers("fd77::/64");
  with.add_peers("fd78::10");
  const v1::UndoRecord record = Applied(fault);
  EXPECT_EQ(See(record).presence, Presence::kPresent) << See(record).evidence;
  EXPECT_EQ(testing::SendDatagram("10.77.0.11"), EPERM);
  ExpectUndone(record);
}

TEST_F(Partition, ChangedBySomebodyElseIsForeignAndLeftAlone) {
  const v1::UndoRecord record = Applied();
  const std::string table = record.partition().table();
  ASSERT_TRUE(testing::Nft(Cat("add rule inet ", table, " input tcp dport 22 accept")).ok());
  EXPECT_EQ(See(record).presence, Presence::kForeign);
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(See(record).presence, Presence::kForeign) << "it is still there";
  ASSERT_TRUE(testing::Nft(Cat("flush table inet ", table)).ok());
  EXPECT_EQ(See(record).presence, Presence::kForeign);
  ASSERT_TRUE(testing::Nft(Cat("delete table inet ", table)).ok());
  ExpectUndone(record);
}

TEST_F(Partition, LeavesTheTablesOfOthersAlone) {
  ASSERT_TRUE(testing::Nft("add table inet theirs").ok());
  const v1::UndoRecord record = Applied();
  ExpectUndone(record);
  EXPECT_TRUE(testing::Nft("delete table inet theirs").ok()) << "it is gone";
}

TEST_F(Partition, StaysOwedWhenItsInterfaceIsGone) {
  const v1::UndoRecord record = Applied();
  ASSERT_TRUE(testing::DeleteLink("trio0").ok());
  EXPECT_EQ(See(record).presence, Presence::kPresent) << "the table does not go with the interface";
  ExpectUndone(record);
}

TEST_F(Partition, IsStillOursWhenItsInterfaceHasAnotherName) {
  const v1::UndoRecord record = Applied();
  ASSERT_TRUE(testing::SetUp("trio0", false).ok());
  ASSERT_TRUE(testing::Rename("trio0", "trio9").ok());
  EXPECT_EQ(See(record).presence, Presence::kPresent) << See(record).evidence;
  ExpectUndone(record);
  ASSERT_TRUE(testing::DeleteLink("trio9").ok());
}

TEST_F(Partition, RefusesWhatTheOthersRefuseAndANameThatIsTaken) {
  v1::AimedFault fault = Fault();
  fault.mutable_with()->mutable_link_partition()->clear_peers();
  EXPECT_THAT(Refusal(fault), HasSubstr("no address is named"));
  fault.mutable_with()->mutable_link_partition()->add_peers("n2");
  EXPECT_THAT(Refusal(fault), HasSubstr("`n2` is no address"));
  ASSERT_TRUE(testing::Nft(Cat("add table inet ", Prepared().partition().table())).ok());
  EXPECT_THAT(Refusal(), HasSubstr("already"));
  ASSERT_TRUE(testing::Nft("flush ruleset").ok());
  ExpectUnseenElsewhere(Prepared());
  ExpectTheCommonRefusals();
}

TEST_F(Partition, RefusesAPartOfABridge) {
  const Status made = testing::MakeBridge("triobr", "trio0");
  if (!made.ok()) GTEST_SKIP() << "this kernel has no bridges: " << made;
  EXPECT_THAT(Refusal(), HasSubstr("a part of interface"));
  ASSERT_TRUE(testing::DeleteLink("triobr").ok());
}

class Blackhole : public LinkFault {
 protected:
  Blackhole() : LinkFault("link.blackhole") {}
  v1::AimedFault To(const std::string& destination) const {
    v1::AimedFault fault = Fault();
    fault.mutable_with()->mutable_link_blackhole()->clear_destinations();
    fault.mutable_with()->mutable_link_blackhole()->add_destinations(destination);
    return fault;
  }
};

TEST_F(Blackhole, SwallowsWhatIsSentAndGoes) {
  const v1::UndoRecord record = Applied();
  EXPECT_EQ(See(record).presence, Presence::kPresent);
  EXPECT_THAT(See(record).evidence, HasSubstr("1 of 1 blackhole routes"));
  EXPECT_EQ(testing::SendDatagram("10.77.0.10"), EINVAL);
  EXPECT_EQ(testing::SendDatagram("10.77.0.11"), 0);
  ExpectUndone(record);
  EXPECT_EQ(testing::SendDatagram("10.77.0.10"), 0);
  EXPECT_EQ(RoutesTo("10.77.0.10"), "");
}

TEST_F(Blackhole, OfNetworksAndIPv6) {
  ASSERT_TRUE(testing::AddAddress("trio0", "fd77::12/64").ok());
  ASSERT_TRUE(testing::AddRoute("trio0", {"10.88.0.0/16", "10.77.0.1"}).ok());
  v1::AimedFault fault = To("10.77.0.0/25");
  auto& with = *fault.mutable_with()->mutable_link_blackhole();
  for (const char* one : {"10.77.0.128/25", "fd77::10", "fd77::8000/113", "10.88.4.0/22"}) with.add_destinations(one);
  const v1::UndoRecord record = Applied(fault);
  EXPECT_EQ(See(record).presence, Presence::kPresent) << See(record).evidence;
  EXPECT_EQ(testing::SendDatagram("10.77.0.11"), EINVAL);
  EXPECT_EQ(testing::SendDatagram("10.88.5.1"), EINVAL);
  EXPECT_THAT(See(record).evidence, HasSubstr("5 of 5"));
  ExpectUndone(record);
  EXPECT_EQ(testing::SendDatagram("10.77.0.11"), 0);
}

TEST_F(Blackhole, RefusesWhatLiesElsewhereOrHasSuchARoute) {
  EXPECT_THAT(Refusal(To("192.0.2.1")), HasSubstr("not reached over trio0"));
  EXPECT_THAT(Refusal(To("10.77.0.12")), HasSubstr("not reached over trio0")) << "that is this node itself";
  EXPECT_THAT(Refusal(To("10.77.0.0/24")), HasSubstr("same metric already"));
  EXPECT_THAT(Refusal(To("10.77.0.0/16")), HasSubstr("lies inside it"));
  EXPECT_THAT(Refusal(To("0.0.0.0/0")), HasSubstr("everybody"));
  ASSERT_TRUE(testing::AddBlackholeRoute("10.77.0.10/32", 4).ok());
  EXPECT_THAT(Refusal(), HasSubstr("same metric already"));
  EXPECT_EQ(RoutesTo("10.77.0.10"), "6 4");
}

TEST_F(Blackhole, RemovesOnlyItsOwn) {
  v1::AimedFault fault = Fault();
  fault.mutable_with()->mutable_link_blackhole()->add_destinations("10.77.0.11");
  const v1::UndoRecord record = Applied(fault);
  ASSERT_TRUE(testing::DeleteBlackholeRoute("10.77.0.11/32").ok());
  EXPECT_THAT(See(record).evidence, HasSubstr("1 of 2"));
  ASSERT_TRUE(testing::AddBlackholeRoute("10.77.0.11/32", 4).ok());
  EXPECT_EQ(See(record).presence, Presence::kForeign);
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(RoutesTo("10.77.0.10"), "");
  EXPECT_EQ(RoutesTo("10.77.0.11"), "6 4");
}

TEST_F(Blackhole, ThatIsLedRoundIsNotSeenAsLanded) {
  ASSERT_TRUE(testing::AddRoute("trio0", {"10.88.0.0/16", "10.77.0.1"}).ok());
  const v1::UndoRecord record = Applied(To("10.88.4.0/22"));
  ASSERT_TRUE(testing::AddRoute("trio0", {"10.88.4.0/24", "10.77.0.1"}).ok());
  EXPECT_THAT(Message(injector_->Inspect(record).status()), HasSubstr("does not take it"));
  ExpectUndone(record);
}

TEST_F(Blackhole, RefusesWhatTheOthersRefuse) {
  ExpectUnseenElsewhere(Prepared());
  ExpectTheCommonRefusals();
}

}  // namespace
}  // namespace triodrill
