// Both ends of the control socket's language: the sandbox's (drills/shadow) and the coordinator's
// (coordinator/engines).
#include "drills/shadow/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "coordinator/engines/shadow_client.h"
#include "google/protobuf/util/message_differencer.h"

namespace triodrill::shadow {
namespace {

using ::testing::HasSubstr;

TEST(ShadowControl, ReadsWhatTheCoordinatorAsks) {
  const Result<Request> kill_agent = ParseRequest(engines::RequestLine("kill-agent", "n1", /*stay_down=*/true));
  ASSERT_TRUE(kill_agent.ok()) << kill_agent.status();
  EXPECT_EQ(kill_agent->action, Action::kKillAgent);
  EXPECT_EQ(kill_agent->node, "n1");
  EXPECT_TRUE(kill_agent->stay_down);
  for (const char* verb : {"status", "start-workload", "stop-workload", "down"}) {
    EXPECT_TRUE(ParseRequest(engines::RequestLine(verb)).ok()) << verb;
  }
}

TEST(ShadowControl, RefusesWhatItDoesNotUnderstandAndSaysWhatItDoes) {
  for (const char* line : {"", "status", "[]", "{}", "{\"do\":1}", "{\"do\":\"status\"",
                           "{\"do\":\"kill-agent\",\"node\":\"n1\",\"stay_down\":1}"}) {
    EXPECT_FALSE(ParseRequest(line).ok()) << line;
  }
  EXPECT_THAT(ParseRequest("{\"do\":\"reboot\"}").status().message(), HasSubstr("known are status, start-workload"));
  EXPECT_THAT(ParseRequest("{\"do\":\"restart-agent\"}").status().message(), HasSubstr("name the node"));
}

TEST(ShadowControl, SaysHowAProgramEnded) {
  EXPECT_EQ(ExitCodeOf(3 << 8), 3);
  EXPECT_EQ(ExitCodeOf(SIGKILL), -SIGKILL);
}

TEST(ShadowControl, TellsTheCoordinatorItsWholeStatus) {
  v1::ShadowSpec spec;
  spec.set_name("demo");
  spec.set_state_dir("/s");
  v1::ShadowNode& node = *spec.add_nodes();
  node.set_name("n0");
  node.set_address("10.77.0.10");
  node.mutable_workload()->add_argv("/bin/\"x\"");
  NodeState state;
  state.init_pid = 41;
  state.agent = {.running = true, .pid = 42, .exit_code = std::nullopt, .starts = 1};
  state.workload = {.running = false, .pid = 0, .exit_code = -9, .starts = 2};

  const Result<engines::EngineStatus> status = engines::ParseStatus(StatusReply(spec, {state}, 40, true));

  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_TRUE(status->up);
  EXPECT_EQ(status->supervisor_pid, 40);
  EXPECT_TRUE(status->user_namespace);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(status->spec, spec));
  ASSERT_EQ(status->nodes.size(), 1U);
  EXPECT_EQ(status->nodes[0].name, "n0");
  EXPECT_EQ(status->nodes[0].init_pid, 41);
  EXPECT_EQ(status->nodes[0].agent.pid, 42);
  EXPECT_FALSE(status->nodes[0].agent.exit_code.has_value());
  EXPECT_EQ(status->nodes[0].workload.exit_code, -9);
  EXPECT_EQ(status->nodes[0].workload.starts, 2);
}

TEST(ShadowControl, PassesAFailureOnWithItsWords) {
  EXPECT_TRUE(engines::CheckReply(OkReply()).ok());
  EXPECT_THAT(engines::CheckReply(ErrorReply(absl::UnavailableError("n1 is lost"))).message(), HasSubstr("n1 is lost"));
  EXPECT_FALSE(engines::CheckReply("not json").ok());
  EXPECT_FALSE(engines::ParseStatus(OkReply()).ok());
}

}  // namespace
}  // namespace triodrill::shadow
