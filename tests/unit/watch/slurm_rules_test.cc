// What Slurm's answers mean, rule by rule. The answers were recorded from a real Slurm 22.05 of four nodes while one of
// them was killed under a job, and cut to the fields that matter (slurm_recordings/).
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "coordinator/watch/host_list.h"
#include "coordinator/watch/slurm_matcher.h"

namespace triodrill::watch {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Recording(const std::string& name) {
  std::ifstream file(absl::StrCat(TRIODRILL_SOURCE_DIR "/tests/unit/watch/slurm_recordings/", name, ".json"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<SlurmNode> Nodes(const std::string& when) {
  const auto nodes = ParseSlurmNodes(Recording(when + ".nodes"), "shadow");
  EXPECT_TRUE(nodes.ok()) << nodes.status();
  return nodes.value_or(std::vector<SlurmNode>());
}
std::vector<SlurmJob> Jobs(const std::string& when) {
  const auto jobs = ParseSlurmJobs(Recording(when + ".jobs"), "shadow");
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  return jobs.value_or(std::vector<SlurmJob>());
}

TimePoint At(int second) { return TimePoint(seconds(1000 + second)); }

TEST(HostList, IsExpandedAsSlurmWritesIt) {
  EXPECT_THAT(*ExpandHosts("n[1-3]"), ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(*ExpandHosts("n[1,3-4],m7"), ElementsAre("n1", "n3", "n4", "m7"));
  EXPECT_THAT(*ExpandHosts("gpu[08-10]"), ElementsAre("gpu08", "gpu09", "gpu10"));
  EXPECT_THAT(*ExpandHosts("r[1-2]n[1-2]x"), ElementsAre("r1n1x", "r1n2x", "r2n1x", "r2n2x"));
  EXPECT_THAT(*ExpandHosts(""), IsEmpty());
  EXPECT_THAT(*ExpandHosts("(null)"), IsEmpty());
}

TEST(HostList, RefusesWhatIsNone) {
  for (const char* const list : {"n[1-3", "n1]", "n[]", "n[3-1]", "n[a-b]", "n[1-]", "n[-2]", "n[1[2]]", ",", "n1,,n2",
                                 "n[1-999999999]", "n[1-1000]m[1-1000]", "n[99999999999999999999]"}) {
    EXPECT_FALSE(ExpandHosts(list).ok()) << list;
  }
}

TEST(SlurmStates, AreReadAsScontrolWritesThem) {
  const std::vector<SlurmNode> nodes = Nodes("down");
  ASSERT_THAT(nodes, SizeIs(4));
  EXPECT_EQ(nodes[0].state, "IDLE+COMPLETING");
  EXPECT_EQ(nodes[1].name, "n2");
  EXPECT_EQ(nodes[1].state, "DOWN+NOT_RESPONDING");
  EXPECT_EQ(nodes[1].reason, "Not responding");
  EXPECT_EQ(Nodes("draining")[0].state, "MIXED+DRAIN");
  EXPECT_EQ(Nodes("draining")[0].reason, "drill: fan 3");
  const std::vector<SlurmJob> jobs = Jobs("moved");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].state, "RUNNING");
  EXPECT_EQ(jobs[0].restarts, 1);
  EXPECT_THAT(jobs[0].nodes, ElementsAre("n1", "n3", "n4"));
  EXPECT_EQ(Jobs("failed")[0].state, "FAILED");
  EXPECT_EQ(Jobs("completed")[1].state, "COMPLETED");
}

TEST(SlurmStates, OfAnotherPartitionAreNotSeen) {
  EXPECT_THAT(*ParseSlurmNodes(Recording("running.nodes"), "production"), IsEmpty());
  EXPECT_THAT(*ParseSlurmJobs(Recording("running.jobs"), "production"), IsEmpty());
}

// `sinfo --json` ends with 0 and an empty list when no controller answers.
TEST(SlurmStates, AnAnswerWithoutAControllerIsNone) {
  EXPECT_FALSE(ParseSlurmNodes(Recording("controller-gone.nodes"), "shadow").ok());
  EXPECT_FALSE(ParseSlurmJobs(Recording("controller-gone.jobs"), "shadow").ok());
}

TEST(SlurmStates, AHalfOrForeignAnswerIsNone) {
  const std::string whole = Recording("running.nodes");
  for (size_t size = 0; size + 2 < whole.size(); size += 7) {
    EXPECT_FALSE(ParseSlurmNodes(whole.substr(0, size), "shadow").ok()) << size;
  }
  for (const char* const body :
       {"[]", "{}", R"({"errors": []})", R"({"errors": [], "nodes": {}})", R"({"errors": [], "nodes": [7]})",
        R"({"nodes": []})", R"({"errors": [], "nodes": [{"partitions": ["shadow"], "name": "n1", "state": "idle"}]})",
        R"({"errors": [], "nodes": [{"partitions": ["shadow"], "name": "n1", "state": ["IDLE"], "state_flags": []}]})",
        R"({"errors": [], "nodes": [{"partitions": ["shadow"], "name": 1, "state": "idle", "state_flags": []}]})"}) {
    EXPECT_FALSE(ParseSlurmNodes(body, "shadow").ok()) << body;
  }
  for (const char* const job :
       {R"("job_id": -1, "name": "j", "job_state": "RUNNING", "restart_cnt": 0)",
        R"("job_id": 1.5, "name": "j", "job_state": "RUNNING", "restart_cnt": 0)",
        R"("job_id": 1, "job_state": "RUNNING", "restart_cnt": 0)",
        R"("job_id": 1, "name": "j", "job_state": "RUNNING", "restart_cnt": 0, "nodes": "n[1-")"}) {
    EXPECT_FALSE(
        ParseSlurmJobs(absl::StrCat(R"({"errors": [], "jobs": [{"partition": "shadow", )", job, "}]}"), "shadow").ok())
        << job;
  }
}

TEST(OutOfService, IsWhoGetsNoWork) {
  EXPECT_THAT(OutOfService(Nodes("running")), IsEmpty());
  EXPECT_THAT(OutOfService(Nodes("not-responding")), ElementsAre("n2"));
  EXPECT_THAT(OutOfService(Nodes("down")), ElementsAre("n2"));
  EXPECT_THAT(OutOfService(Nodes("draining")), ElementsAre("n1", "n2"));
  EXPECT_THAT(OutOfService({{.name = "b", .state = "UNKNOWN", .reason = ""}, {.name = "a", .state = "", .reason = ""}}),
              ElementsAre("a", "b"));
}

class Changes : public ::testing::Test {
 protected:
  // One look, begun at `second` and answered a second later.
  std::vector<v1::Fact> Look(int second, const std::string& when) {
    const Instant asked{At(second), At(second + 1)};
    std::vector<v1::Fact> facts;
    last_.clear();
    for (const auto& changes : {nodes_.Take(asked, Nodes(when)), jobs_.Take(asked, Jobs(when))}) {
      for (const SlurmChange& change : changes) {
        for (v1::Fact& fact : matcher_->Match(change, "slurm")) {
          facts.push_back(std::move(fact));
          last_.push_back(change.at);
        }
      }
    }
    return facts;
  }
  v1::Signal& Add(const std::string& id, v1::Meaning means, const std::string& node) {
    v1::Signal& signal = *pipeline_.add_signals();
    signal.set_id(id);
    signal.set_means(means);
    if (!node.empty()) signal.mutable_of()->set_node(node);
    return signal;
  }
  void SetUp() override {
    for (const char* const name : {"n1", "n2", "n3", "n4"}) partition_.add_nodes()->set_name(name);
    pipeline_.mutable_slurm()->set_job("drill");
    Add("silent", v1::SYMPTOM, "${label.node}").mutable_slurm()->set_node_state(".*\\+NOT_RESPONDING");
    Add("down", v1::ISOLATED, "${label.node}").mutable_slurm()->set_node_state("DOWN(\\+.*)?");
    Add("drained", v1::ISOLATED, "${label.node}").mutable_slurm()->set_node_state(".*\\+DRAIN(\\+.*)?");
    Add("waits", v1::NOTE, "").mutable_slurm()->set_job_state("PENDING");
    pipeline_.mutable_signals(3)->mutable_slurm()->set_reason("^BeginTime$");
    Add("requeued", v1::DETECTED, "").mutable_slurm()->set_job_change("requeued");
    Add("joined", v1::REPLACED, "${label.node}").mutable_slurm()->set_job_change("joined");
    Add("left", v1::NOTE, "${label.node}").mutable_slurm()->set_job_change("left");
    auto matcher = SlurmMatcher::Create(pipeline_, partition_);
    ASSERT_TRUE(matcher.ok()) << matcher.status();
    matcher_ = std::make_unique<SlurmMatcher>(*std::move(matcher));
  }
  static std::vector<std::string> Said(const std::vector<v1::Fact>& facts) {
    std::vector<std::string> said;
    for (const v1::Fact& fact : facts) {
      said.push_back(fact.has_remark() ? fact.remark().text()
                                       : absl::StrCat(fact.signal().signal(), " ", fact.signal().named()));
    }
    return said;
  }

  v1::PipelineSpec pipeline_;
  v1::PartitionSpec partition_;
  std::unique_ptr<SlurmMatcher> matcher_;
  SlurmNodeLooks nodes_;
  SlurmJobLooks jobs_;
  std::vector<Instant> last_;  // of the facts of the last look
};

TEST_F(Changes, AKilledNodeIsToldStepByStep) {
  EXPECT_THAT(Said(Look(0, "running")), IsEmpty());
  EXPECT_THAT(Said(Look(10, "not-responding")), ElementsAre("silent n2"));
  EXPECT_EQ(last_[0].earliest, At(0));
  EXPECT_EQ(last_[0].latest, At(11));
  EXPECT_THAT(Said(Look(20, "not-responding")), IsEmpty());
  // It still does not respond: that is not told again. That a job which ends gives up its nodes is no leaving.
  EXPECT_THAT(Said(Look(30, "down")), ElementsAre("down n2", "requeued "));
  EXPECT_EQ(last_[0].earliest, At(20));
  EXPECT_EQ(last_[1].latest, At(31));
  EXPECT_THAT(Said(Look(40, "requeued")), ElementsAre("waits "));
  EXPECT_THAT(Said(Look(50, "moved")), ElementsAre("left n2", "joined n4"));
  EXPECT_EQ(last_[0].earliest, At(40));
  EXPECT_THAT(Said(Look(60, "moved")), IsEmpty());
}

TEST_F(Changes, AllInOneIntervalAreAllTold) {
  Look(0, "running");
  EXPECT_THAT(Said(Look(60, "moved")), ElementsAre("silent n2", "down n2", "requeued ", "left n2", "joined n4"));
}

TEST_F(Changes, WhatIsSoWhenWatchingBeginsIsOld) {
  EXPECT_THAT(Said(Look(0, "down")), IsEmpty());
  // The job was never seen running: nobody knows what it held.
  EXPECT_THAT(Said(Look(10, "moved")), IsEmpty());
  EXPECT_THAT(Said(Look(20, "running")), ElementsAre("left n4", "joined n2"));
  // It recovered, so its next fall is new.
  EXPECT_THAT(Said(Look(30, "not-responding")), ElementsAre("silent n2"));
}

TEST_F(Changes, ADrainIsToldWithItsReason) {
  nodes_.Take({At(0), At(1)}, Nodes("moved"));
  const auto changes = nodes_.Take({At(10), At(11)}, Nodes("draining"));
  ASSERT_THAT(changes, SizeIs(1));
  const auto facts = matcher_->Match(changes[0], "slurm sinfo");
  ASSERT_THAT(Said(facts), ElementsAre("drained n1"));
  EXPECT_EQ(facts[0].signal().source(), "slurm sinfo");
  EXPECT_THAT(facts[0].signal().raw(), HasSubstr("\"reason\":\"drill: fan 3\""));
}

TEST_F(Changes, AReasonThatIsAskedForMustBeThere) {
  pipeline_.mutable_signals(2)->mutable_slurm()->set_reason("ECC");
  matcher_ = std::make_unique<SlurmMatcher>(*SlurmMatcher::Create(pipeline_, partition_));
  nodes_.Take({At(0), At(1)}, Nodes("moved"));
  std::vector<SlurmNode> drained = Nodes("draining");
  EXPECT_THAT(matcher_->Match(nodes_.Take({At(10), At(11)}, drained).at(0), "slurm"), IsEmpty());
  drained[0].reason = "uncorrectable ECC error";
  EXPECT_THAT(Said(matcher_->Match(nodes_.Take({At(20), At(21)}, drained).at(0), "slurm")), ElementsAre("drained n1"));
}

TEST_F(Changes, ANodeThatThePartitionDoesNotHaveIsRemarkedOn) {
  partition_.mutable_nodes(1)->set_name("m2");
  matcher_ = std::make_unique<SlurmMatcher>(*SlurmMatcher::Create(pipeline_, partition_));
  Look(0, "running");
  EXPECT_THAT(Said(Look(10, "not-responding")), ElementsAre("silent ", HasSubstr("has no node \"n2\"")));
}

}  // namespace
}  // namespace triodrill::watch
