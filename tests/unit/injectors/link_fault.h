// A link fault on a real interface, in a network namespace of the test's own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <memory>
#include <string>
#include <utility>

#include "injectors/catalog.h"
#include "injectors/link/restore.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/net.h"
#include "tests/unit/injectors/traffic.h"

namespace triodrill::testing {

inline constexpr const char* kPeerMac = "02:00:00:00:00:10";

inline std::string Message(const Status& status) { return std::string(status.message()); }

class OwnNetwork : public ::testing::Environment {
 public:
  void SetUp() override { entered = EnterOwnNetwork(); }
  static inline Status entered;
};
inline const auto* const kOwnNetwork = ::testing::AddGlobalTestEnvironment(new OwnNetwork);

// trio0 (10.77.0.12) is joined to trio1; a neighbour 10.77.0.10 is known on it, so that datagrams to it are sent.
class LinkFault : public ::testing::Test {
 protected:
  explicit LinkFault(std::string kind) : kind_(std::move(kind)), injector_(FindInjector(kind_)->make()) {}
  void SetUp() override {
    if (!OwnNetwork::entered.ok()) GTEST_SKIP() << OwnNetwork::entered;
    const Status made = MakePair("trio0", "trio1");
    if (!made.ok()) GTEST_SKIP() << made;
    ASSERT_TRUE(AddAddress("trio0", "10.77.0.12/24").ok());
    ASSERT_TRUE(AddNeighbour("trio0", "10.77.0.10", kPeerMac).ok());
    ASSERT_TRUE(AddNeighbour("trio0", "10.77.0.11", kPeerMac).ok());
    ASSERT_TRUE(
        Eventually([] { return IdentifyLink("trio0").ok() && (PriorOf("trio0")->flags() & IFF_RUNNING) != 0; }));
    const v1::Capability capability = FindInjector(kind_)->probe();
    if (!capability.possible()) GTEST_SKIP() << capability.reason();
  }
  void TearDown() override {
    if (!OwnNetwork::entered.ok()) return;  // the host's own network is nobody's to clean
    static_cast<void>(DeleteLink("trio0"));
    static_cast<void>(Nft("flush ruleset"));
    // No route of this kind goes with an interface.
    for (const char* one : {"10.77.0.10/32", "10.77.0.11/32"}) static_cast<void>(DeleteBlackholeRoute(one));
  }

  v1::AimedFault Fault() const { return Aim(kind_, *IdentifyLink("trio0")); }
  v1::UndoRecord Prepared(const v1::AimedFault& fault) {
    const auto record = injector_->Prepare(fault);
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? *record : v1::UndoRecord();
  }
  v1::UndoRecord Prepared() { return Prepared(Fault()); }
  v1::UndoRecord Applied(const v1::AimedFault& fault) {
    v1::UndoRecord record = Prepared(fault);
    const Status applied = injector_->Apply(record);
    EXPECT_TRUE(applied.ok()) << applied;
    return record;
  }
  v1::UndoRecord Applied() { return Applied(Fault()); }
  std::string Refusal(const v1::AimedFault& fault) { return Message(injector_->Prepare(fault).status()); }
  std::string Refusal() { return Refusal(Fault()); }
  Effect See(const v1::UndoRecord& record) {
    const auto effect = injector_->Inspect(record);
    EXPECT_TRUE(effect.ok()) << effect.status();
    return effect.value_or(Effect{});
  }
  void ExpectUndone(const v1::UndoRecord& record) {
    for (int again = 0; again < 2; ++again) {
      const Status reverted = injector_->Revert(record);
      EXPECT_TRUE(reverted.ok()) << reverted;
      EXPECT_EQ(See(record).presence, Presence::kAbsent) << See(record).evidence;
    }
  }
  // What link.down refuses all of them refuse, by the same check.
  void ExpectTheCommonRefusals() {
    EXPECT_THAT(Refusal(Aim(kind_, *IdentifyLink("lo"))), ::testing::HasSubstr("loopback"));
    v1::AimedFault another = Fault();
    another.mutable_target()->mutable_link()->set_mac("02:00:00:00:77:77");
    EXPECT_THAT(Refusal(another), ::testing::HasSubstr("not trio0"));
    v1::AimedFault elsewhere = Fault();
    elsewhere.mutable_target()->mutable_link()->set_net_namespace_inode(1);
    EXPECT_THAT(Refusal(elsewhere), ::testing::HasSubstr("network namespace"));
    ASSERT_TRUE(AddRoute("trio0", {"0.0.0.0/0", "10.77.0.1"}).ok());
    EXPECT_THAT(Refusal(), ::testing::HasSubstr("default route"));
    ASSERT_TRUE(triodrill::testing::SetUp("trio0", false).ok());
    EXPECT_THAT(Refusal(), ::testing::HasSubstr("down already"));
  }
  void ExpectUnseenElsewhere(v1::UndoRecord record) {
    record.mutable_fault()->mutable_target()->mutable_link()->set_net_namespace_inode(1);
    EXPECT_TRUE(absl::IsFailedPrecondition(injector_->Inspect(record).status()));
    EXPECT_FALSE(injector_->Revert(record).ok());
    EXPECT_FALSE(injector_->Apply(record).ok());
  }

  const std::string kind_;
  const std::unique_ptr<Injector> injector_;
};

}  // namespace triodrill::testing
