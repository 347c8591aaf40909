// Which links of a node may be taken, and in which order.
#include "injectors/link/taken_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if.h>

namespace triodrill {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

LinkState Link(int index, const std::string& name, uint32_t flags = IFF_UP | IFF_RUNNING) {
  LinkState link;
  link.identity.set_ifindex(index);
  link.identity.set_name(name);
  link.flags = flags;
  return link;
}

std::vector<std::string> NamesOf(const std::vector<LinkState>& links) {
  std::vector<std::string> names;
  for (const LinkState& link : links) names.push_back(link.identity.name());
  return names;
}

TEST(ChooseLinks, TakesAllButLoopbackWhatIsDownAndWhatTheNodeIsLookedAfterOver) {
  const LinkChoice choice = ChooseLinks(
      {Link(1, "lo", IFF_UP | IFF_LOOPBACK), Link(2, "eth0"), Link(3, "eth1"), Link(4, "mgmt0"), Link(5, "ib0", 0)},
      {2}, {"mgmt0"});
  EXPECT_THAT(NamesOf(choice.taken), ElementsAre("eth1"));
  EXPECT_THAT(choice.spared, ElementsAre("lo: the loopback", "eth0: the default route goes over it",
                                         "mgmt0: this node's policy protects it", "ib0: it is down already"));
}

TEST(ChooseLinks, SparesWhatASparedOneStandsOn) {
  LinkState vlan = Link(9, "bond0.5");
  vlan.lower_ifindex = 8;
  LinkState member = Link(2, "eth0");
  member.master_ifindex = 8;
  LinkState other = Link(4, "eth2");
  other.master_ifindex = 7;  // a bridge that nobody needs
  const LinkChoice choice =
      ChooseLinks({member, Link(3, "eth1"), other, Link(7, "br0"), Link(8, "bond0"), vlan}, {9}, {});
  EXPECT_THAT(NamesOf(choice.taken), ElementsAre("eth1", "eth2", "br0"));
  EXPECT_THAT(choice.spared, Contains("eth0: bond0 needs it"));
}

TEST(ChooseLinks, PutsWhatOthersStandOnFirst) {
  LinkState vlan = Link(2, "trio0.5");
  vlan.lower_ifindex = 3;
  LinkState one = Link(3, "trio0");
  one.lower_ifindex = 4;
  LinkState two = Link(4, "trio1");
  two.lower_ifindex = 3;  // a pair: each is the other's
  EXPECT_THAT(NamesOf(ChooseLinks({Link(5, "eth0"), two, one, vlan}, {}, {}).taken),
              ElementsAre("eth0", "trio1", "trio0", "trio0.5"));
  LinkState elsewhere = Link(6, "eth1");
  elsewhere.lower_ifindex = 3;  // an index of another namespace
  elsewhere.lower_elsewhere = true;
  EXPECT_THAT(NamesOf(ChooseLinks({elsewhere, Link(3, "eth2")}, {}, {}).taken), ElementsAre("eth1", "eth2"));
}

}  // namespace
}  // namespace triodrill
