// Policy, topology, messages, lines: texts and their values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "drills/shadow/pipeline/node_facts.h"
#include "tests/unit/shadow_pipeline/story.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string FileOf(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ShadowPolicy, TheOneThatIsShippedCanBeRead) {
  const std::string file = std::string(TRIODRILL_SOURCE_DIR) + "/drills/shadow/policy.yaml";
  const Result<Policy> policy = ParsePolicy(FileOf(file), file);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->spec.detection().signals_required(), 2);
  EXPECT_EQ(policy->spec.tiers().isolate_job(), v1::CONFIRM);
  EXPECT_EQ(policy->spec.self_check().bandwidth_floor(), 50'000'000);
  EXPECT_THAT(policy->checks, HasSubstr("peer_replay:32"));
}

// The two differ where the issue at hand is, and nowhere else: a signal that is mended in one is mended in both.
TEST(ShadowPolicy, TheWarmOneDiffersFromTheDefaultByItsSparesAndTheirProfilesByThat) {
  const std::string directory = std::string(TRIODRILL_SOURCE_DIR) + "/drills/";
  const std::string file = directory + "shadow/policy-warm.yaml";
  const Result<Policy> warm = ParsePolicy(FileOf(file), file);
  ASSERT_TRUE(warm.ok()) << warm.status();
  Policy usual = *ParsePolicy(FileOf(directory + "shadow/policy.yaml"), "policy.yaml");
  EXPECT_EQ(usual.spec.spares().warm(), 0);
  EXPECT_EQ(usual.spec.recovery().source(), v1::CHECKPOINT);
  usual.spec.mutable_spares()->set_warm(warm->spec.spares().warm());
  usual.spec.mutable_recovery()->set_source(v1::PEERS);
  EXPECT_EQ(usual.spec.DebugString(), warm->spec.DebugString());

  std::string expected = FileOf(directory + "pipelines/reference.yaml");
  expected = absl::StrReplaceAll(expected.substr(expected.find("apiVersion")),
                                 {{"{name: reference}", "{name: reference-warm}"},
                                  {"/policy.yaml\n    rank_process", "/policy-warm.yaml\n    rank_process"}});
  std::string profile = FileOf(directory + "pipelines/reference-warm.yaml");
  const size_t note = profile.find("    - id: standby\n");
  ASSERT_NE(note, std::string::npos);
  profile.erase(note, profile.find("    - id: ", note + 1) - note);
  EXPECT_EQ(profile.substr(profile.find("apiVersion")), expected);
}

TEST(ShadowPolicy, WhatIsWrongIsToldWithItsPlace) {
  const std::string text =
      "apiVersion: triodrill/v1\nkind: ShadowPolicy\nmetadata: {name: x}\nspec:\n  detection: {stall_watchdog: 3}\n";
  EXPECT_THAT(std::string(ParsePolicy(text, "p.yaml").status().message()), HasSubstr("p.yaml:5:31: error:"));
  const std::string late =
      "apiVersion: triodrill/v1\nkind: ShadowPolicy\nmetadata: {name: x}\nspec:\n"
      "  training: {heartbeat: 1s}\n  detection: {heartbeat_timeout: 500ms}\n";
  EXPECT_THAT(std::string(ParsePolicy(late, "p.yaml").status().message()), HasSubstr("p.yaml:6:"));
}

TEST(ShadowTopology, HasRanksInTheOrderOfServingSlots) {
  const Topology topology = FourNodesAndTwoSpares();
  EXPECT_EQ(topology.world, 8);
  EXPECT_EQ(topology.tensor_parallel, 2);
  EXPECT_EQ(topology.ServingSlots()[5].Name(), "n2/1");
  EXPECT_THAT(topology.DataParallelGroup(5), ElementsAre(1, 3, 5, 7));
}

TEST(NodeMessages, ComeBackAsTheyWere) {
  Beat beat;
  beat.step = 12;
  const Result<FromNode> said = DecodeFromNode(Encode(FromNode(Said{{"n2", 1}, 7, beat})));
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_EQ(std::get<Said>(*said).slot.Name(), "n2/1");
  EXPECT_EQ(std::get<Beat>(std::get<Said>(*said).message).step, 12);
  const Result<ToNode> told = DecodeToNode(Encode(ToNode(Tell{{"n2", 1}, 7, Halt{4}})));
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(std::get<Halt>(std::get<Tell>(*told).message).epoch, 4);
  const NodeHello hello{"n0", 2, "10.0.0.1", true, 77, {{1, 5, 3, 9}}};
  const Result<FromNode> back = DecodeFromNode(Encode(FromNode(hello)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(std::get<NodeHello>(*back).trainers[0].epoch, 9);
  const Result<FromNode> xid = DecodeFromNode(Encode(FromNode(XidSeen{{"n2", 1}, 79, "NVRM: …"})));
  ASSERT_TRUE(xid.ok()) << xid.status();
  EXPECT_EQ(std::get<XidSeen>(*xid).xid, 79);
  EXPECT_FALSE(DecodeToNode(R"({"type":"kill","slot":"n2","incarnation":1})").ok());
}

TEST(PipelineLog, QuotesWhatHasBlanks) {
  EXPECT_EQ(FormatLine({"detected", {{"slot", "n2/0"}, {"detail", "it said \"no\"\n"}, {"bad", ""}}}),
            "detected slot=n2/0 detail=\"it said \\\"no\\\" \" bad=\"\"");
}

TEST(NodeFacts, FindTheGpuOfTheDriversLine) {
  const auto word = ParseXidWord("<3>NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=x, GPU has fallen off the bus.");
  ASSERT_TRUE(word.has_value());
  EXPECT_EQ(word->xid, 79);
  EXPECT_TRUE(IsAt(*word, "00000000:3B:00.0"));
  EXPECT_FALSE(IsAt(*word, "00000000:3C:00.0"));
  EXPECT_FALSE(IsAt(*word, ""));
  for (const char* other : {"NVRM: Xid (PCI:0000:3b:00): 79", "NVRM: Xid (PCI:0000:3b:00.0): 79, pid=7",
                            "NVRM: GPU at PCI:0000:3b:00: GPU-1", "usb 1-1: new device", ""}) {
    EXPECT_FALSE(ParseXidWord(other).has_value()) << other;
  }
}

TEST(NodeFacts, ReadTheCountersOfOneInterface) {
  const std::string text =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
      "    lo:  100  1 0 0 0 0 0 0  100 1 0 0 0 0 0 0\n"
      "  eth0: 2345 10 0 0 0 0 0 0 6789 9 0 0 0 0 0 0\n";
  EXPECT_EQ(ParseInterfaceBytes(text, "eth0").received, 2345u);
  EXPECT_EQ(ParseInterfaceBytes(text, "eth0").sent, 6789u);
  EXPECT_EQ(ParseInterfaceBytes(text, "eth1").sent, 0u);
}

}  // namespace
}  // namespace triodrill::shadow::pipeline
