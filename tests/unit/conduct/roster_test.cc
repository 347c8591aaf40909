#include "coordinator/conduct/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triodrill::conduct {
namespace {

using ::testing::HasSubstr;

// Two nodes, rank R on nR, each with a link that is up.
class RosterTest : public testing::Test {
 protected:
  RosterTest() : roster(Nodes()) {
    for (int i = 0; i < 2; ++i) {
      fleet::AgentEvent event;
      event.kind = fleet::AgentEvent::Kind::kSaid;
      event.node = "n" + std::to_string(i);
      v1::RankFound& rank = *event.said.mutable_inventory()->add_ranks();
      rank.set_rank(i);
      rank.mutable_process()->set_pid(100 + i);
      v1::LinkFound& link = *event.said.mutable_inventory()->add_links();
      link.mutable_link()->set_name("eth0");
      link.mutable_link()->set_ifindex(7 + i);
      link.set_running(true);
      roster.Take(event);
    }
  }
  static v1::PartitionSpec Nodes() {
    v1::PartitionSpec partition;
    for (const char* name : {"n0", "n1"}) partition.add_nodes()->set_name(name);
    return partition;
  }
  static v1::Shot LinkOf(int rank) {
    v1::Shot shot;
    shot.set_role(v1::LINK);
    shot.set_interface("eth0");
    shot.set_rank(rank);
    return shot;
  }
  Roster roster;
};

TEST_F(RosterTest, FindsTheLinkOfTheNodeThatARankIsOnNow) {
  const gate::Resolved resolved = roster.Resolve(LinkOf(1), "1.cut.0");
  EXPECT_EQ(resolved.problem, "");
  EXPECT_EQ(resolved.node, "n1");
  EXPECT_EQ(resolved.identity.link().ifindex(), 8);
}

TEST_F(RosterTest, ARankThatNobodyRunsHasNoLink) {
  EXPECT_THAT(roster.Resolve(LinkOf(5), "1.cut.0").problem, HasSubstr("no process is rank 5"));
}

TEST_F(RosterTest, ARankThatTwoNodesClaimHasNoLink) {
  fleet::AgentEvent event;
  event.kind = fleet::AgentEvent::Kind::kSaid;
  event.node = "n0";
  event.said.mutable_process()->set_change(v1::PROCESS_APPEARED);
  event.said.mutable_process()->mutable_rank()->set_rank(1);
  event.said.mutable_process()->mutable_rank()->set_local_rank(1);
  roster.Take(event);
  EXPECT_NE(roster.Resolve(LinkOf(1), "1.cut.0").problem, "");
}

TEST_F(RosterTest, AFaultOnTheNodeOfARankHitsAllOfThatNode) {
  v1::Shot shot;
  shot.set_role(v1::RANK);
  shot.set_rank(1);
  for (const char* kind : {"process.exit_agent", "node.lost", "node.flapping"}) {
    shot.set_kind(kind);
    const gate::Resolved resolved = roster.Resolve(shot, "1.lost.0");
    EXPECT_EQ(resolved.node, "n1");
    EXPECT_EQ(resolved.slot, "") << kind;
    EXPECT_EQ(resolved.identity.process().pid(), 101);
  }
  shot.set_kind("process.kill");
  EXPECT_EQ(roster.Resolve(shot, "1.kill.0").slot, "n1/0");
}

}  // namespace
}  // namespace triodrill::conduct
