#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if.h>
#include <poll.h>
#include <unistd.h>

#include "injectors/link/down.h"
#include "injectors/link/link_prior.h"
#include "injectors/link/netlink.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/net.h"

namespace triodrill {
namespace {

using testing::AddAddress;
using testing::AddNeighbour;
using testing::AddRoute;
using testing::Aim;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PriorOf;

std::string Message(const Status& status) { return std::string(status.message()); }

class OwnNetwork : public ::testing::Environment {
 public:
  void SetUp() override { entered = testing::EnterOwnNetwork(); }
  static inline Status entered;
};
const auto* const kOwnNetwork = ::testing::AddGlobalTestEnvironment(new OwnNetwork);

// trio0 is joined to trio1; both are up and have a carrier.
class Link : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!OwnNetwork::entered.ok()) GTEST_SKIP() << OwnNetwork::entered;
    const Status made = testing::MakePair("trio0", "trio1");
    if (!made.ok()) GTEST_SKIP() << made;
    ASSERT_TRUE(AddAddress("trio0", "10.77.0.12/24").ok());
    ASSERT_TRUE(Eventually([&] { return Running("trio0"); }));
  }
  void TearDown() override { static_cast<void>(testing::DeleteLink("trio0")); }

  static LinkState State(const std::string& name) {
    auto socket = RouteSocket::Open();
    const auto links = socket->Links();
    for (const LinkState& link : *links) {
      if (link.identity.name() == name) return link;
    }
    return {};
  }
  static bool Running(const std::string& name) { return State(name).Running(); }

  v1::UndoRecord Prepared() {
    const auto record = injector_->Prepare(Aim("link.down", State("trio0").identity));
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? *record : v1::UndoRecord();
  }
  static void ExpectAsBefore(const v1::LinkPrior& before, const std::string& name = "trio0") {
    const auto now = PriorOf(name);
    ASSERT_TRUE(now.ok()) << now.status();
    EXPECT_THAT(MissingFrom(before, *now), IsEmpty());
    EXPECT_THAT(MissingFrom(*now, before), IsEmpty()) << "and nothing came that was not there";
    EXPECT_EQ(before.flags(), now->flags());
  }
  // Down and up again, and all that was on it is on it.
  void ExpectToSurvive(const std::string& name, int addresses) {
    ASSERT_TRUE(Eventually([&] {  // the kernel's own link-local address comes a little later
      const auto prior = PriorOf(name);
      return prior.ok() && prior->addresses_size() == addresses;
    }));
    const auto before = PriorOf(name);
    const auto record = injector_->Prepare(Aim("link.down", State(name).identity));
    ASSERT_TRUE(record.ok()) << record.status();
    ASSERT_TRUE(injector_->Apply(*record).ok());
    EXPECT_TRUE(Eventually([&] { return injector_->Inspect(*record)->presence == Presence::kPresent; }));
    EXPECT_FALSE(MissingFrom(*before, *PriorOf(name)).empty()) << "nothing was dropped: this test tests nothing";
    const Status reverted = injector_->Revert(*record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    ExpectAsBefore(*before, name);
  }
  const std::unique_ptr<Injector> injector_ = MakeLinkDown();
};

TEST_F(Link, GoesDownAndComesBackWithAddressesRoutesAndNeighbours) {
  ASSERT_TRUE(AddAddress("trio0", "fd77::12/64").ok());
  ASSERT_TRUE(AddAddress("trio0", "10.77.9.1/32").ok());
  ASSERT_TRUE(AddRoute("trio0", {"10.88.0.0/16", "10.77.0.1"}).ok());
  ASSERT_TRUE(AddRoute("trio0", {"10.89.0.0/16", "", 100, 7, 1234}).ok());
  ASSERT_TRUE(AddRoute("trio0", {"fd88::/32", "fd77::1", 254, 33}).ok());
  ASSERT_TRUE(AddRoute("trio0", {"128.0.0.0/1", "10.77.0.1"}).ok());
  ASSERT_TRUE(AddNeighbour("trio0", "10.77.0.99", "02:00:00:00:00:99").ok());
  ASSERT_TRUE(Eventually([] {  // the kernel's own link-local address comes a little later
    const auto prior = PriorOf("trio0");
    return prior.ok() && prior->addresses_size() == 4;
  }));
  const auto before = PriorOf("trio0");
  const v1::UndoRecord record = Prepared();
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  ASSERT_TRUE(injector_->Apply(record).ok());
  EXPECT_TRUE(Eventually([&] { return injector_->Inspect(record)->presence == Presence::kPresent; }));
  EXPECT_EQ(injector_->Inspect(record)->evidence, "IFF_UP clear, IFF_RUNNING clear");
  EXPECT_FALSE(MissingFrom(*before, *PriorOf("trio0")).empty())
      << "the kernel dropped nothing: this test tests nothing";
  for (int again = 0; again < 2; ++again) {
    const Status reverted = injector_->Revert(record);
    ASSERT_TRUE(reverted.ok()) << reverted;
    EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
    ExpectAsBefore(*before);
  }
  const auto after = PriorOf("trio0");
  for (const v1::LinkRoute& route : after->routes()) {
    if (route.destination() != "10.89.0.0/16") continue;
    const auto& routes = before->routes();
    EXPECT_EQ(std::count_if(routes.begin(), routes.end(),
                            [&](const v1::LinkRoute& other) { return other.as_dumped() == route.as_dumped(); }),
              1)
        << "also its metrics are what they were";
  }
}

TEST_F(Link, PutsBackWhatIsMissingAlsoIfSomebodySetItUpAgain) {
  ASSERT_TRUE(AddRoute("trio0", {"10.88.0.0/16", "10.77.0.1"}).ok());
  const auto before = PriorOf("trio0");
  const v1::UndoRecord record = Prepared();
  ASSERT_TRUE(injector_->Apply(record).ok());
  ASSERT_TRUE(testing::SetUp("trio0", true).ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  const Status reverted = injector_->Revert(record);
  ASSERT_TRUE(reverted.ok()) << reverted;
  EXPECT_THAT(MissingFrom(*before, *PriorOf("trio0")), IsEmpty());
}

TEST_F(Link, LocalAddressesOfIPv6ComeBackTheKernelsAndAnAdministratorsAlike) {
  ASSERT_TRUE(AddAddress("trio0", "fe80::77/64").ok());
  ASSERT_TRUE(AddRoute("trio0", {"fd99::/64", "fe80::1"}).ok());
  ExpectToSurvive("trio0", 3);
}

TEST_F(Link, ThatIsABridgeComesBackWithItsAddressesAndKeepsItsPort) {
  const Status made = testing::MakeBridge("triobr", "trio0");
  if (!made.ok()) GTEST_SKIP() << "this kernel has no bridges: " << made;
  ASSERT_TRUE(testing::SetUp("triobr", true).ok());
  ASSERT_TRUE(AddAddress("triobr", "10.78.0.1/24").ok());
  ASSERT_TRUE(AddAddress("triobr", "fd78::1/64").ok());
  ASSERT_TRUE(AddRoute("triobr", {"10.79.0.0/16", "10.78.0.2"}).ok());
  ASSERT_TRUE(Eventually([&] { return Running("triobr"); }));
  ExpectToSurvive("triobr", 3);
  EXPECT_EQ(State("trio0").master_ifindex, State("triobr").identity.ifindex());
  ExpectToSurvive("trio0", 1 + (PriorOf("trio0")->addresses_size() > 1 ? 1 : 0));
  EXPECT_EQ(State("trio0").master_ifindex, State("triobr").identity.ifindex()) << "a port stays a port";
  EXPECT_TRUE(testing::DeleteLink("triobr").ok());
}

TEST_F(Link, ThatIsAVlanComesBackWithItsAddresses) {
  const Status made = testing::MakeVlan("trio0.5", "trio0", 5);
  if (!made.ok()) GTEST_SKIP() << "this kernel has no VLANs: " << made;
  ASSERT_TRUE(testing::SetUp("trio0.5", true).ok());
  ASSERT_TRUE(AddAddress("trio0.5", "10.78.0.1/24").ok());
  ASSERT_TRUE(AddRoute("trio0.5", {"10.79.0.0/16", "10.78.0.2"}).ok());
  ExpectToSurvive("trio0.5", 2);
}

TEST_F(Link, ThatIsABondComesBackWithItsAddresses) {
  const Status made = testing::MakeBond("triobond");
  if (!made.ok()) GTEST_SKIP() << "this kernel has no bonds: " << made;
  ASSERT_TRUE(testing::SetUp("triobond", true).ok());
  ASSERT_TRUE(AddAddress("triobond", "10.78.0.1/24").ok());
  ASSERT_TRUE(AddRoute("triobond", {"10.79.0.0/16", "10.78.0.2"}).ok());
  ExpectToSurvive("triobond", 1);
  EXPECT_TRUE(testing::DeleteLink("triobond").ok());
}

TEST_F(Link, KeepsWhatCameMeanwhile) {
  const v1::UndoRecord record = Prepared();
  ASSERT_TRUE(injector_->Apply(record).ok());
  ASSERT_TRUE(AddAddress("trio0", "10.99.0.1/24").ok());
  ASSERT_TRUE(injector_->Revert(record).ok());
  const auto now = PriorOf("trio0");
  EXPECT_EQ(std::count_if(now->addresses().begin(), now->addresses().end(),
                          [](const v1::LinkAddress& address) { return address.local() == "10.99.0.1/24"; }),
            1);
}

TEST_F(Link, WithAnotherMacIsAnothersAndLeftAlone) {
  const v1::UndoRecord record = Prepared();
  ASSERT_TRUE(injector_->Apply(record).ok());
  ASSERT_TRUE(testing::SetMac("trio0", "02:00:00:00:77:77").ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kForeign);
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_FALSE(State("trio0").Up());
  EXPECT_FALSE(injector_->Apply(record).ok());
}

TEST_F(Link, MadeAnewUnderTheSameNameIsAnothers) {
  const v1::UndoRecord record = Prepared();
  ASSERT_TRUE(injector_->Apply(record).ok());
  ASSERT_TRUE(testing::DeleteLink("trio0").ok());
  ASSERT_TRUE(testing::MakePair("trio0", "trio1").ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kForeign);
  EXPECT_TRUE(injector_->Revert(record).ok());
}

TEST_F(Link, ThatIsGoneOwesNothing) {
  const v1::UndoRecord record = Prepared();
  ASSERT_TRUE(injector_->Apply(record).ok());
  ASSERT_TRUE(testing::DeleteLink("trio0").ok());
  EXPECT_TRUE(injector_->Revert(record).ok());
  const auto effect = injector_->Inspect(record);
  ASSERT_TRUE(effect.ok()) << effect.status();
  EXPECT_EQ(effect->presence, Presence::kAbsent);
  EXPECT_THAT(effect->evidence, HasSubstr("is gone"));
}

TEST_F(Link, OfAnotherNamespaceCannotBeSeenWhichIsNotAbsence) {
  v1::UndoRecord record = Prepared();
  record.mutable_fault()->mutable_target()->mutable_link()->set_net_namespace_inode(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(injector_->Inspect(record).status()));
  EXPECT_FALSE(injector_->Revert(record).ok());
  EXPECT_FALSE(injector_->Apply(record).ok());
  EXPECT_TRUE(State("trio0").Up());
}

TEST_F(Link, OfAnEarlierBootIsOver) {
  v1::UndoRecord record = Prepared();
  record.set_boot_id("00000000-0000-0000-0000-000000000000");
  ASSERT_TRUE(testing::SetUp("trio0", false).ok());
  EXPECT_TRUE(injector_->Revert(record).ok());
  EXPECT_EQ(injector_->Inspect(record)->presence, Presence::kAbsent);
  EXPECT_FALSE(State("trio0").Up()) << "down for another reason";
}

TEST_F(Link, TheLoopbackIsRefused) {
  EXPECT_THAT(Message(injector_->Prepare(Aim("link.down", State("lo").identity)).status()), HasSubstr("loopback"));
}

TEST_F(Link, ThatIsDownAlreadyIsRefused) {
  ASSERT_TRUE(testing::SetUp("trio0", false).ok());
  EXPECT_THAT(Message(injector_->Prepare(Aim("link.down", State("trio0").identity)).status()),
              HasSubstr("down already"));
}

TEST_F(Link, UnderAVlanIsRefused) {
  const Status made = testing::MakeVlan("trio0.5", "trio0", 5);
  if (!made.ok()) GTEST_SKIP() << "this kernel has no VLANs: " << made;
  EXPECT_THAT(Message(injector_->Prepare(Aim("link.down", State("trio0").identity)).status()), HasSubstr("trio0.5"));
}

TEST_F(Link, UnderAMultipathRouteIsRefused) {
  const Status added = AddRoute("trio0", {"10.90.0.0/16", "10.77.0.1", 254, 0, 0, "10.77.0.2"});
  if (!added.ok()) GTEST_SKIP() << "this kernel has no multipath routes: " << added;
  EXPECT_THAT(Message(injector_->Prepare(Aim("link.down", State("trio0").identity)).status()),
              HasSubstr("multipath route 10.90.0.0/16"));
}

TEST_F(Link, CarriesTheDefaultRouteOnlyIfOneGoesOverIt) {
  EXPECT_FALSE(*CarriesDefaultRoute(State("trio0").identity));
  ASSERT_TRUE(AddRoute("trio0", {"10.88.0.0/16", "10.77.0.1"}).ok());
  EXPECT_FALSE(*CarriesDefaultRoute(State("trio0").identity));
  ASSERT_TRUE(AddRoute("trio0", {"0.0.0.0/0", "10.77.0.1"}).ok());
  EXPECT_TRUE(*CarriesDefaultRoute(State("trio0").identity));
  EXPECT_FALSE(*CarriesDefaultRoute(State("trio1").identity));
}

TEST_F(Link, ThatCarriesTheDefaultRouteIsNeverTakenDown) {
  ASSERT_TRUE(AddRoute("trio0", {"0.0.0.0/0", "10.77.0.1"}).ok());
  EXPECT_THAT(Message(injector_->Prepare(Aim("link.down", State("trio0").identity)).status()),
              HasSubstr("default route"));
}

TEST_F(Link, ChangesAreAnnouncedInOrder) {
  const auto monitor = LinkMonitor::Open();
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  EXPECT_THAT(*(*monitor)->Drain(), IsEmpty());
  ASSERT_TRUE(testing::SetUp("trio0", false).ok());
  ASSERT_TRUE(testing::SetUp("trio0", true).ok());
  pollfd entry{(*monitor)->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  std::vector<bool> running;
  EXPECT_TRUE(Eventually([&] {
    const auto changes = (*monitor)->Drain();
    for (const LinkState& state : *changes) {
      if (state.identity.name() == "trio0") running.push_back(state.Running());
    }
    return running.size() >= 2 && running.back();
  }));
  EXPECT_FALSE(running.front());
  ASSERT_TRUE(testing::DeleteLink("trio0").ok());
  EXPECT_TRUE(Eventually([&] {
    const auto changes = (*monitor)->Drain();
    for (const LinkState& state : *changes) {
      if (state.identity.name() == "trio0" && state.deleted) return true;
    }
    return false;
  }));
}

TEST_F(Link, SnapshotHoldsAllLinksWithTheirIdentity) {
  const auto monitor = LinkMonitor::Open();
  ASSERT_TRUE(monitor.ok());
  int seen = 0;
  const auto snapshot = (*monitor)->Snapshot();
  for (const LinkState& state : *snapshot) {
    if (!state.identity.name().starts_with("trio")) continue;
    ++seen;
    EXPECT_EQ(state.kind, "veth");
    EXPECT_EQ(state.identity.mac().size(), 17u);
    EXPECT_NE(state.identity.net_namespace_inode(), 0u);
  }
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace triodrill
