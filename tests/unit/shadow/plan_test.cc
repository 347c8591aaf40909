#include "drills/shadow/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triodrill::shadow {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::ShadowSpec ThreeNodes() {
  v1::ShadowSpec spec;
  spec.set_name("demo");
  spec.set_state_dir("/run/triodrill/demo");
  spec.set_prefix_length(24);
  for (int i = 0; i < 3; ++i) {
    v1::ShadowNode& node = *spec.add_nodes();
    node.set_name("n" + std::to_string(i));
    node.set_address("10.77.0.1" + std::to_string(i));
    node.mutable_agent()->add_argv("/bin/true");
    node.mutable_agent()->set_out("/tmp/out");
    node.mutable_agent()->set_err("/tmp/err");
  }
  return spec;
}

std::string Problem(const v1::ShadowSpec& spec) { return std::string(CheckSpec(spec).message()); }

TEST(ShadowPlan, TakesThreeNodesOfOneNetwork) { EXPECT_EQ(Problem(ThreeNodes()), ""); }

TEST(ShadowPlan, RefusesANameThatIsNoHostName) {
  for (const char* name : {"", "N0", "n_0", "-n", "n-", "n 0", "n0\n10.0.0.1 evil"}) {
    v1::ShadowSpec spec = ThreeNodes();
    spec.mutable_nodes(1)->set_name(name);
    EXPECT_THAT(Problem(spec), HasSubstr("node name")) << name;
  }
}

TEST(ShadowPlan, RefusesANameOrAnAddressThatIsUsedTwice) {
  v1::ShadowSpec names = ThreeNodes();
  names.mutable_nodes(2)->set_name("n0");
  EXPECT_THAT(Problem(names), HasSubstr("node name \"n0\": is used twice"));
  v1::ShadowSpec addresses = ThreeNodes();
  addresses.mutable_nodes(2)->set_address("10.77.0.10");
  EXPECT_THAT(Problem(addresses), HasSubstr("address \"10.77.0.10\": is used twice"));
}

TEST(ShadowPlan, RefusesAnAddressThatTheOthersCouldNotReach) {
  for (const char* address : {"10.78.0.12", "10.77.0.0", "10.77.0.255", "10.77.0", "fd00::1", "n2"}) {
    v1::ShadowSpec spec = ThreeNodes();
    spec.mutable_nodes(2)->set_address(address);
    EXPECT_THAT(Problem(spec), HasSubstr("address")) << address;
  }
}

TEST(ShadowPlan, RefusesANodeWithoutAnAgentButNotOneWithoutAWorkload) {
  v1::ShadowSpec spec = ThreeNodes();
  spec.mutable_nodes(0)->mutable_agent()->clear_argv();
  EXPECT_THAT(Problem(spec), HasSubstr("agent of node \"n0\""));
}

TEST(ShadowPlan, RefusesPathsThatAreNotAbsolute) {
  v1::ShadowSpec state = ThreeNodes();
  state.set_state_dir("state");
  EXPECT_THAT(Problem(state), HasSubstr("state_dir"));
  v1::ShadowSpec output = ThreeNodes();
  output.mutable_nodes(0)->mutable_agent()->set_err("agent.log");
  EXPECT_THAT(Problem(output), HasSubstr("agent.log"));
}

TEST(ShadowPlan, GivesEveryNodeTheNamesOfAll) {
  EXPECT_EQ(HostsFile(ThreeNodes()), "127.0.0.1 localhost\n10.77.0.10 n0\n10.77.0.11 n1\n10.77.0.12 n2\n");
}

TEST(ShadowPlan, WritesTheAddressWithItsPrefix) {
  const v1::ShadowSpec spec = ThreeNodes();
  EXPECT_EQ(AddressWithPrefix(spec, spec.nodes(1)), "10.77.0.11/24");
}

TEST(ShadowPlan, StartsAProgramInAnEnvironmentOfItsOwn) {
  v1::Program program;
  program.add_env("RANKS=3");
  const std::vector<std::string> caller = {"SECRET=1", "PATH=/evil", "HOME=/var/lib/me", "LD_PRELOAD=x.so"};
  EXPECT_THAT(ProgramEnvironment(caller, program, Role::kWorkload),
              ElementsAre("HOME=/var/lib/me", "LANG=C.UTF-8",
                          "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "RANKS=3",
                          "TRIODRILL_SHADOW_ROLE=workload"));
}

TEST(ShadowPlan, LetsAProgramChooseItsPathButNotItsRole) {
  v1::Program program;
  program.add_env("PATH=/opt/bin");
  program.add_env("TRIODRILL_SHADOW_ROLE=agent");
  const std::vector<std::string> environment = ProgramEnvironment({}, program, Role::kWorkload);
  EXPECT_THAT(environment, Contains("PATH=/opt/bin"));
  EXPECT_THAT(environment, Contains("TRIODRILL_SHADOW_ROLE=workload"));
  EXPECT_THAT(environment, Not(Contains("TRIODRILL_SHADOW_ROLE=agent")));
}

TEST(ShadowPlan, KeepsTheSanitizersOptionsOfTheCaller) {
  const std::vector<std::string> caller = {"TSAN_OPTIONS=halt_on_error=1"};
  EXPECT_THAT(ProgramEnvironment(caller, v1::Program(), Role::kAgent), Contains("TSAN_OPTIONS=halt_on_error=1"));
}

}  // namespace
}  // namespace triodrill::shadow
