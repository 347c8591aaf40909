// The lines that torchrun (PyTorch 1.13, gloo) really writes, each against the expression that a profile would use for
// it.
#include <gtest/gtest.h>

#include "coordinator/watch/signal_matcher.h"

namespace triodrill::watch {
namespace {

struct Case {
  const char* name;
  const char* match;
  const char* of_node;
  const char* of_local_rank;
  const char* line;
  const char* named;
};

class TorchrunLine : public testing::TestWithParam<Case> {};

SignalMatcher Matcher(const Case& one) {
  v1::PartitionSpec partition;
  for (const char* name : {"n0", "n1", "n2"}) {
    v1::Node& node = *partition.add_nodes();
    node.set_name(name);
    node.set_address(std::string("10.77.0.1") + name[1]);
  }
  v1::PipelineSpec pipeline;
  v1::Signal& signal = *pipeline.add_signals();
  signal.set_id("it");
  signal.set_means(v1::DETECTED);
  signal.mutable_log()->set_path("${run_dir}/${node}.err");
  signal.mutable_log()->set_match(one.match);
  signal.mutable_of()->set_node(one.of_node);
  signal.mutable_of()->set_local_rank(one.of_local_rank);
  Result<SignalMatcher> matcher = SignalMatcher::Create(pipeline, partition, "/run", "/data");
  EXPECT_TRUE(matcher.ok()) << matcher.status();
  return *std::move(matcher);
}

Line At(const std::string& text) { return {.path = "/run/n1.err", .number = 1, .offset = 0, .text = text, .at = {}}; }

TEST_P(TorchrunLine, IsReadAsWhatItSays) {
  const std::vector<v1::Fact> facts = Matcher(GetParam()).Match(At(GetParam().line));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].signal().named(), GetParam().named);
  EXPECT_EQ(facts[0].signal().raw(), GetParam().line);
}

TEST_P(TorchrunLine, IsNotReadIntoALineThatOnlyQuotesIt) {
  EXPECT_TRUE(Matcher(GetParam()).Match(At(std::string("> ") + GetParam().line)).empty());
}

constexpr char kGloo[] =
    R"(^RuntimeError: \[\./gloo/transport/tcp/pair\.cc:\d+\] (?:Read error|Connection closed by peer) \[(?P<peer>[\d.]+)\]:\d+(?:: Connection reset by peer)?$)";
constexpr char kFailed[] =
    R"(^ERROR:torch\.distributed\.elastic\.multiprocessing\.api:failed \(exitcode: (?P<exitcode>-?\d+)\) local_rank: (?P<local_rank>\d+) \(pid: \d+\) of binary: )";

INSTANTIATE_TEST_SUITE_P(
    Lines, TorchrunLine,
    testing::Values(
        Case{"R1_read_error", kGloo, "${address.peer}", "",
             "RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read error [10.77.0.12]:53212: Connection reset by peer",
             "n2"},
        Case{"R1_closed", kGloo, "${address.peer}", "",
             "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.77.0.10]:1234", "n0"},
        Case{
            "R2_timed_out",
            R"(^RuntimeError: \[\./gloo/transport/tcp/unbound_buffer\.cc:(?:81|133)\] Timed out waiting (?P<ms>\d+)ms for (?:recv|send) operation to complete$)",
            "", "",
            "RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 20000ms for recv operation to "
            "complete",
            ""},
        Case{"R3_failed", kFailed, "${node}", "${group.local_rank}",
             "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 8) of "
             "binary: "
             "/usr/bin/python3",
             "n1/0"},
        Case{
            "R4_group_failed",
            R"(^INFO:.*server\.api:\[default\] Worker group FAILED\. (\d)/(\d) attempts left; will restart worker group$)",
            "${node}", "",
            "INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 3/3 attempts left; will "
            "restart worker group",
            "n1"},
        Case{
            "R5_new_nodes",
            R"(^INFO:.*server\.api:\[default\] Detected (\d+) new nodes from group_rank=(\d+); will restart worker group$)",
            "", "",
            "INFO:torch.distributed.elastic.agent.server.api:[default] Detected 1 new nodes from group_rank=0; will "
            "restart worker group",
            ""},
        Case{"R5b_starting", R"(^INFO:.*\[default\] Starting worker group$)", "${node}", "",
             "INFO:torch.distributed.elastic.agent.server.api:[default] Starting worker group", "n1"},
        Case{"R6_closing", R"(^WARNING:.*multiprocessing\.api:Sending process (\d+) closing signal SIGTERM$)", "", "",
             "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 8 closing signal SIGTERM", ""},
        Case{"R7_forced",
             R"(^WARNING:.*multiprocessing\.api:Unable to shutdown process (\d+) via 15, forcefully exiting via 9$)",
             "", "",
             "WARNING:torch.distributed.elastic.multiprocessing.api:Unable to shutdown process 8 via 15, forcefully "
             "exiting via 9",
             ""},
        Case{
            "R8_heartbeat",
            R"(^WARNING:.*dynamic_rendezvous:The node '(?P<who>[^'_]+)_\S+' has failed to send a keep-alive heartbeat to the rendezvous '(\w+)' due to an error of type (RendezvousConnectionError|RendezvousTimeoutError)\.$)",
            "${group.who}", "",
            "WARNING:torch.distributed.elastic.rendezvous.dynamic_rendezvous:The node 'n2_7_0' has failed to send a "
            "keep-alive heartbeat to the rendezvous 'job1' due to an error of type RendezvousConnectionError.",
            "n2"},
        Case{
            "R9_store_lost",
            R"(^torch\.distributed\.elastic\.rendezvous\.api\.RendezvousConnectionError: The connection to the C10d store has failed)",
            "", "",
            "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has "
            "failed. See inner exception for details.",
            ""},
        Case{"R10_death_signal", R"(^WARNING:.*server\.api:Received 15 death signal, shutting down workers$)",
             "${node}", "",
             "WARNING:torch.distributed.elastic.agent.server.api:Received 15 death signal, shutting down workers",
             "n1"},
        Case{"R11_socket_timeout", "^RuntimeError: Socket Timeout$", "", "", "RuntimeError: Socket Timeout", ""},
        Case{
            "R12_refused",
            R"(^RuntimeError: \[\./gloo/transport/tcp/pair\.cc:799\] connect \[(?P<peer>[\d.]+)\]:\d+: Connection refused$)",
            "${address.peer}", "",
            "RuntimeError: [./gloo/transport/tcp/pair.cc:799] connect [10.77.0.11]:40211: Connection refused", "n1"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace triodrill::watch
