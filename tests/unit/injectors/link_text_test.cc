// What is told to the kernel and read from it, as values: no interface is touched, and no kernel has to have netem.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/pkt_sched.h>
#include <netlink/netlink.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/netem.h>
#include <netlink/route/tc.h>

#include <cstring>
#include <memory>

#include "injectors/link/netem.h"
#include "injectors/link/partition_table.h"
#include "injectors/link/qdisc.h"
#include "injectors/link/rate.h"
#include "triodrill/network_prefix.h"
#include "triodrill/time.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;

std::string Message(const Status& status) { return std::string(status.message()); }

TEST(NetworkPrefix, IsAnAddressOrANetwork) {
  EXPECT_EQ(ParseNetworkPrefix("10.77.0.12")->Text(), "10.77.0.12");
  EXPECT_EQ(ParseNetworkPrefix("10.77.0.12/32")->Text(), "10.77.0.12");
  EXPECT_EQ(ParseNetworkPrefix("10.77.0.64/26")->Text(), "10.77.0.64/26");
  EXPECT_EQ(ParseNetworkPrefix("FD77:0::/64")->Text(), "fd77::/64");
  EXPECT_EQ(ParseNetworkPrefix("fd77::1")->length, 128);
}

TEST(NetworkPrefix, SaysWhatIsWrong) {
  for (const char* text : {"", "n2", "10.77.0", "10.77.0.256", "10.77.0.1/", "10.77.0.1/33", "10.77.0.0/24x",
                           "fd77::/129", "10.77.0.0/-1", " 10.77.0.1", "10.77.0.0/0", "::/0"}) {
    EXPECT_FALSE(ParseNetworkPrefix(text).ok()) << text;
  }
  EXPECT_THAT(Message(ParseNetworkPrefix("10.77.0.12/24").status()), HasSubstr("write 10.77.0.0/24"));
  const std::vector<std::string> twice = {"10.77.0.1", "10.77.0.1/32"};
  EXPECT_THAT(Message(ParseNetworkPrefixes(twice).status()), HasSubstr("twice"));
  EXPECT_THAT(Message(ParseNetworkPrefixes(std::vector<std::string>()).status()), HasSubstr("no address"));
  EXPECT_FALSE(ParseNetworkPrefixes(std::vector<std::string>(257, "10.77.0.1")).ok());
}

// What libnl-route writes for the same qdisc.
std::string LibrarysOptions(rtnl_qdisc* qdisc) {
  nl_msg* message = nullptr;
  if (rtnl_qdisc_build_add_request(qdisc, NLM_F_CREATE, &message) < 0) return "";
  const auto read = ParseQdisc(nlmsg_hdr(message));
  nlmsg_free(message);
  return read.ok() ? read->options : "";
}

class NetemMessage : public ::testing::Test {
 protected:
  NetemMessage() {
    rtnl_tc_set_ifindex(TC_CAST(qdisc_.get()), 1);
    rtnl_tc_set_parent(TC_CAST(qdisc_.get()), TC_H_ROOT);
    rtnl_tc_set_kind(TC_CAST(qdisc_.get()), "netem");
    rtnl_netem_set_limit(qdisc_.get(), 1'000'000);
  }
  const std::unique_ptr<rtnl_qdisc, decltype(&rtnl_qdisc_put)> qdisc_{rtnl_qdisc_alloc(), &rtnl_qdisc_put};
  v1::AimedFault fault_;
};

TEST_F(NetemMessage, OfADelayIsUnderstoodAsLibnlWritesIt) {
  auto& with = *fault_.mutable_with()->mutable_link_delay();
  *with.mutable_delay() = ToProto(std::chrono::milliseconds(20));
  *with.mutable_jitter() = ToProto(std::chrono::microseconds(1500));
  const auto shape = HowToDelay(fault_, 0);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->kind, "netem");
  EXPECT_TRUE(shape->is_it(shape->options));
  rtnl_netem_set_delay(qdisc_.get(), 20'000);
  rtnl_netem_set_jitter(qdisc_.get(), 1'500);
  EXPECT_TRUE(shape->is_it(LibrarysOptions(qdisc_.get())));
  rtnl_netem_set_delay(qdisc_.get(), 21'000);
  EXPECT_FALSE(shape->is_it(LibrarysOptions(qdisc_.get()))) << "another delay is another's";
  rtnl_netem_set_delay(qdisc_.get(), 20'000);
  rtnl_netem_set_loss(qdisc_.get(), 5);
  EXPECT_FALSE(shape->is_it(LibrarysOptions(qdisc_.get()))) << "somebody added loss";
}

TEST_F(NetemMessage, HasTheFixedPartOfLibnls) {
  auto& with = *fault_.mutable_with()->mutable_link_delay();
  *with.mutable_delay() = ToProto(std::chrono::milliseconds(20));
  const std::string ours = HowToDelay(fault_, 0)->options;
  rtnl_netem_set_delay(qdisc_.get(), 20'000);
  const std::string theirs = LibrarysOptions(qdisc_.get());
  ASSERT_GE(theirs.size(), sizeof(tc_netem_qopt));
  EXPECT_EQ(ours.substr(0, sizeof(tc_netem_qopt)), theirs.substr(0, sizeof(tc_netem_qopt)));
}

TEST_F(NetemMessage, OfLossAndOfCorruption) {
  fault_.mutable_with()->mutable_link_loss()->set_share(25);
  const auto loss = HowToLose(fault_, 0);
  ASSERT_TRUE(loss.ok()) << loss.status();
  tc_netem_qopt fixed{};
  std::memcpy(&fixed, loss->options.data(), sizeof(fixed));
  EXPECT_EQ(fixed.loss, 1u << 30);
  EXPECT_EQ(fixed.latency, 0u);
  EXPECT_TRUE(loss->is_it(loss->options));
  fault_.mutable_with()->mutable_link_corrupt()->set_share(50);
  const auto corrupt = HowToCorrupt(fault_, 0);
  ASSERT_TRUE(corrupt.ok()) << corrupt.status();
  rtnl_netem_set_corruption_probability(qdisc_.get(), static_cast<int>(ShareOf32Bits(50)));
  EXPECT_TRUE(corrupt->is_it(corrupt->options));
  EXPECT_FALSE(corrupt->is_it(loss->options));
  EXPECT_FALSE(loss->is_it(corrupt->options));
}

TEST(NetemShare, IsOfAllThatThirtyTwoBitsHold) {
  EXPECT_EQ(ShareOf32Bits(100), 0xffffffffu);
  EXPECT_EQ(ShareOf32Bits(0), 0u);
  EXPECT_EQ(ShareOf32Bits(0.001), 42950u);
}

TEST(NetemParameters, OutOfRangeAreRefused) {
  v1::AimedFault fault;
  EXPECT_FALSE(HowToDelay(fault, 0).ok());
  EXPECT_FALSE(HowToLose(fault, 0).ok());
  EXPECT_FALSE(HowToCorrupt(fault, 0).ok());
  fault.mutable_with()->mutable_link_loss()->set_share(101);
  EXPECT_FALSE(HowToLose(fault, 0).ok());
  auto& delay = *fault.mutable_with()->mutable_link_delay();
  *delay.mutable_delay() = ToProto(std::chrono::milliseconds(1));
  *delay.mutable_jitter() = ToProto(std::chrono::milliseconds(2));
  EXPECT_THAT(Message(HowToDelay(fault, 0).status()), HasSubstr("jitter"));
}

TEST(RateParameters, ABurstHoldsAPacketAndARateAboveFourGigabytesIsWhole) {
  v1::AimedFault fault;
  auto& with = *fault.mutable_with()->mutable_link_rate();
  EXPECT_FALSE(HowToRate(fault, 1500).ok());
  with.set_rate(100'000'000);
  EXPECT_THAT(HowToRate(fault, 1500)->text, HasSubstr("burst 50000 bytes"));
  with.set_burst(1500);
  EXPECT_THAT(Message(HowToRate(fault, 1500).status()), HasSubstr("1514"));
  with.set_burst(0);
  with.set_rate(400'000'000'000);
  const auto shape = HowToRate(fault, 9000);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_TRUE(shape->is_it(shape->options));
  EXPECT_FALSE(shape->is_it(TokenBucketOptions({4'000'000'000, 200'000'000, 1})));
  EXPECT_THAT(AsTcIsTold({.kind = "tbf", .options = shape->options}), HasSubstr("rate 400000000000bit"));
}

v1::AimedFault Partition() {
  v1::AimedFault fault;
  fault.set_kind("link.partition");
  fault.set_run_id("20261130-1");
  fault.set_shot("1.cut.0");
  fault.mutable_target()->mutable_link()->set_name("eth0");
  fault.mutable_target()->mutable_link()->set_ifindex(7);
  fault.mutable_with()->mutable_link_partition()->add_peers("10.77.0.0/24");
  fault.mutable_with()->mutable_link_partition()->add_peers("fd77::10");
  fault.mutable_with()->mutable_link_partition()->set_direction(v1::OUTBOUND);
  return fault;
}

PartitionOrder Order(const v1::AimedFault& fault) { return *HowToPartition(fault, PartitionTableName(fault)); }

std::string Listing(const std::string& more = "", const std::string& address = "fd77::10",
                    const std::string& interface = "eth0") {
  return R"({"nftables": [{"metainfo": {"version": "1.0.6"}},
    {"table": {"family": "inet", "name": "triodrill_20261130_1_1_cut_0", "handle": 12}},
    {"chain": {"name": "output", "handle": 1, "type": "filter", "hook": "output", "prio": -310, "policy": "accept"}},
    {"rule": {"chain": "output", "handle": 2, "expr": [
      {"match": {"op": "==", "left": {"meta": {"key": "oif"}}, "right": ")" +
         interface + R"("}},
      {"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "daddr"}},
                 "right": {"prefix": {"addr": "10.77.0.0", "len": 24}}}},
      {"counter": {"packets": 3, "bytes": 200}}, {"drop": null}]}},
    {"rule": {"chain": "output", "handle": 3, "expr": [
      {"match": {"op": "==", "left": {"meta": {"key": "oif"}}, "right": ")" +
         interface + R"("}},
      {"match": {"op": "==", "left": {"payload": {"protocol": "ip6", "field": "daddr"}}, "right": ")" +
         address + R"("}},
      {"counter": {"packets": 4, "bytes": 200}}, {"drop": null}]}})" +
         more + "]}";
}

TEST(PartitionTable, IsWrittenInOneTransactionWithOneRuleAPeer) {
  EXPECT_EQ(
      PartitionCommands(Order(Partition())),
      "create table inet triodrill_20261130_1_1_cut_0\n"
      "add chain inet triodrill_20261130_1_1_cut_0 output { type filter hook output priority -310; policy accept; }\n"
      "add rule inet triodrill_20261130_1_1_cut_0 output oif 7 ip daddr 10.77.0.0/24 counter drop\n"
      "add rule inet triodrill_20261130_1_1_cut_0 output oif 7 ip6 daddr fd77::10 counter drop\n");
}

TEST(PartitionTable, ReadsBackAsOursWithItsCounters) {
  for (const char* interface : {"eth0", "7"}) {
    const auto seen = ReadPartition(Listing("", "fd77::10", interface), Order(Partition()), "eth0");
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_TRUE(seen->ours) << seen->difference;
    EXPECT_EQ(seen->packets, 7u);
    EXPECT_EQ(seen->handle, 12);
  }
  EXPECT_FALSE(ReadPartition(Listing("", "fd77::10", "eth1"), Order(Partition()), "eth0")->ours);
}

TEST(PartitionTable, WithAnythingElseInItIsSomebodyElses) {
  const std::vector<std::string> more = {
      R"(, {"rule": {"chain": "output", "handle": 9, "expr": [{"accept": null}]}})",
      R"(, {"set": {"name": "mine"}})",
      R"(, {"chain": {"name": "mine", "handle": 8}})",
      R"(, {"rule": 5})",
  };
  for (const std::string& one : more) {
    const auto seen = ReadPartition(Listing(one), Order(Partition()), "eth0");
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_FALSE(seen->ours) << one;
    EXPECT_FALSE(seen->difference.empty());
  }
  EXPECT_FALSE(ReadPartition(Listing("", "fd77::11"), Order(Partition()), "eth0")->ours);
  const std::string emptied = R"({"nftables": [{"table": {"handle": 12}}]})";
  EXPECT_THAT(ReadPartition(emptied, Order(Partition()), "eth0")->difference, HasSubstr("nothing"));
  EXPECT_FALSE(ReadPartition("{\"nftables\": [", Order(Partition()), "eth0").ok()) << "that is no table at all";
}

TEST(PartitionTable, NeedsPeersAndADirection) {
  v1::AimedFault fault = Partition();
  fault.mutable_with()->mutable_link_partition()->clear_peers();
  EXPECT_THAT(Message(HowToPartition(fault, "t").status()), HasSubstr("no address is named"));
  fault = Partition();
  fault.mutable_with()->mutable_link_partition()->clear_direction();
  EXPECT_THAT(Message(HowToPartition(fault, "t").status()), HasSubstr("no direction"));
}

}  // namespace
}  // namespace triodrill
