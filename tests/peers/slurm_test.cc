// The distribution's Slurm, watched as a drill watches it, with the profile that is shipped: a node is lost under a
// job, a node is drained, the controller dies, a task fails; each observation holds the truth, which slurmctld wrote
// into its log.
#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>

#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "coordinator/load/load.h"
#include "coordinator/watch/signal_matcher.h"
#include "coordinator/watch/slurm_watch.h"
#include "tests/peers/slurm_rig.h"

namespace triodrill {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::RealSlurm;
using ::testing::SizeIs;
using testing::Slurp;

constexpr char kTheirLog[] = "/var/log/slurm/slurmctld.log";

class WatchedSlurm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = testing::WhyNoSlurm(); !why.empty()) GTEST_SKIP() << why;
    slurm_ = std::make_unique<RealSlurm>();
    ASSERT_NO_FATAL_FAILURE(slurm_->Start());
    ASSERT_NO_FATAL_FAILURE(slurm_->StartJob());
    std::vector<Diagnostic> problems;
    pipeline_ = LoadPipeline(Slurp(TRIODRILL_SOURCE_DIR "/drills/pipelines/slurm-requeue.yaml"), "profile", problems)
                    .message.spec();
    ASSERT_TRUE(problems.empty()) << problems.front().Text();
    pipeline_.mutable_slurm()->set_conf(slurm_->conf());
    pipeline_.mutable_slurm()->set_commands(slurm_->commands());
    for (int i = 1; i <= RealSlurm::kNodes; ++i) partition_.add_nodes()->set_name(absl::StrCat("n", i));
  }

  Result<std::unique_ptr<watch::SlurmWatch>> Start() {
    return watch::SlurmWatch::Start(pipeline_, partition_, slurm_->clock(), [this](std::vector<watch::Observed> seen) {
      const std::lock_guard lock(mutex_);
      for (watch::Observed& one : seen) seen_.push_back(std::move(one));
    });
  }
  void Watch() {
    auto watch = Start();
    ASSERT_TRUE(watch.ok()) << watch.status();
    watch_ = *std::move(watch);
  }

  std::vector<watch::Observed> Seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::vector<watch::Observed> Of(const std::string& signal) {
    std::vector<watch::Observed> found = Seen();
    std::erase_if(found, [&](const auto& one) { return one.fact.signal().signal() != signal; });
    return found;
  }
  std::vector<std::string> Named(const std::string& signal) {
    std::vector<std::string> names;
    for (const watch::Observed& one : Of(signal)) names.push_back(one.fact.signal().named());
    return names;
  }
  std::vector<v1::MonitoringGap> Gaps() {
    std::vector<v1::MonitoringGap> gaps;
    for (const watch::Observed& one : Seen()) {
      if (one.fact.has_monitoring_gap()) gaps.push_back(one.fact.monitoring_gap());
    }
    return gaps;
  }
  bool Comes(const std::string& signal, size_t times = 1) {
    return Eventually(seconds(150), [&] { return Of(signal).size() >= times; });
  }
  std::string Everything() {
    std::string text;
    for (const watch::Observed& one : Seen()) absl::StrAppend(&text, one.fact.ShortDebugString(), "\n");
    return absl::StrCat(text, Slurp(slurm_->log()), Slurp(slurm_->Path("job.out")));
  }

  std::vector<std::string> LogLines() { return absl::StrSplit(Slurp(slurm_->log()), '\n'); }
  // When the controller wrote the first line with `words`, on our clock. It writes them while it holds the lock under
  // which it changes what they say, and answers questions outside of it.
  TimePoint WhenLogged(const std::string& words) {
    const Nanos wall_to_ours = slurm_->clock().Now().time_since_epoch() - Nanos(coordinator::WallNanos());
    for (const std::string& line : LogLines()) {
      absl::Time at;
      std::string error;
      if (!absl::StrContains(line, words) || line.size() < 25) continue;
      EXPECT_TRUE(absl::ParseTime("%Y-%m-%dT%H:%M:%E3S", line.substr(1, 23), absl::LocalTimeZone(), &at, &error))
          << line << error;
      return TimePoint(Nanos(absl::ToUnixNanos(at)) + wall_to_ours);
    }
    ADD_FAILURE() << "no line of slurmctld's holds: " << words;
    return {};
  }
  void ExpectHolds(const watch::Observed& observed, TimePoint truth) {
    constexpr std::chrono::milliseconds kCut{20};  // their time stamps are in whole milliseconds, on another clock
    EXPECT_LE(observed.at.earliest, truth + kCut) << observed.fact.ShortDebugString();
    EXPECT_GE(observed.at.latest + kCut, truth) << observed.fact.ShortDebugString();
    std::cout << observed.fact.signal().signal() << " " << observed.fact.signal().named() << ": within "
              << std::chrono::duration<double>(observed.at.latest - observed.at.earliest).count() << " s\n";
  }

  std::unique_ptr<RealSlurm> slurm_;
  v1::PipelineSpec pipeline_;
  v1::PartitionSpec partition_;
  std::mutex mutex_;
  std::vector<watch::Observed> seen_;
  std::unique_ptr<watch::SlurmWatch> watch_;  // last: it hands on to what is above
};

TEST_F(WatchedSlurm, ALostNodeIsToldDownItsJobRequeuedAndTheSpareInItsPlace) {
  Watch();
  EXPECT_THAT(watch_->OutOfServiceNow(), IsEmpty());
  const TimePoint before = slurm_->clock().Now();
  slurm_->LoseNode(2);
  ASSERT_TRUE(Comes("node-joined")) << Everything();
  EXPECT_THAT(Named("node-silent"), ElementsAre("n2"));
  EXPECT_THAT(Named("node-failed"), ElementsAre("n2"));
  EXPECT_THAT(Named("node-down"), ElementsAre("n2"));
  EXPECT_THAT(Named("node-left"), ElementsAre("n2"));
  EXPECT_THAT(Named("node-joined"), ElementsAre("n4"));
  ASSERT_THAT(Of("job-requeued"), SizeIs(1));
  EXPECT_THAT(Of("job-requeued")[0].fact.signal().raw(), HasSubstr("\"restarts\":\"1\""));
  EXPECT_THAT(Of("job-failed"), IsEmpty());
  EXPECT_THAT(watch_->OutOfServiceNow(), ElementsAre("n2"));
  EXPECT_GT(Of("node-silent")[0].at.latest, before);
  const TimePoint down = WhenLogged("Nodes n2 not responding, setting DOWN");
  ExpectHolds(Of("node-failed")[0], down);
  ExpectHolds(Of("node-down")[0], down);
  ExpectHolds(Of("job-requeued")[0], WhenLogged("requeue job JobId=1 due to failure of node n2"));
  EXPECT_LE(Of("node-silent")[0].at.latest, Of("node-down")[0].at.latest);
  EXPECT_GE(Of("node-joined")[0].at.latest, Of("job-requeued")[0].at.latest);
  ASSERT_TRUE(Eventually(seconds(60), [&] { return slurm_->Steps("n4") > 0; })) << Everything();

  // The node comes back, and is told to be well again.
  slurm_->StartNode(2);
  ASSERT_TRUE(Eventually(seconds(60), [&] { return watch_->OutOfServiceNow().empty(); })) << Everything();
  ASSERT_TRUE(Eventually(seconds(60), [&] {
    const auto names = Named("node-returned");
    return std::find(names.begin(), names.end(), "n2") != names.end();
  })) << Everything();
  EXPECT_THAT(Named("node-down"), ElementsAre("n2"));
}

TEST_F(WatchedSlurm, ItsLogIsReadAsTheProfileSays) {
  slurm_->LoseNode(2);
  ASSERT_TRUE(Eventually(seconds(150), [&] { return slurm_->Steps("n4") > 0; })) << Everything();
  slurm_->Tell({"scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=fan"});
  auto matcher = watch::SignalMatcher::Create(pipeline_, partition_, "/run", "/data");
  ASSERT_TRUE(matcher.ok()) << matcher.status();
  std::vector<std::string> said;
  for (const std::string& text : LogLines()) {
    watch::Line line;
    line.path = kTheirLog;
    line.text = text;
    for (const v1::Fact& fact : matcher->Match(line)) {
      said.push_back(absl::StrCat(fact.signal().signal(), " ", fact.signal().named()));
    }
  }
  EXPECT_THAT(said, IsSupersetOf({"log-ping-failed n2", "log-requeue n2", "log-down n2", "log-started ", "log-started ",
                                  "log-drained n3"}))
      << Everything();
}

TEST_F(WatchedSlurm, ADrainIsToldWithItsReasonAndTheJobGoesOn) {
  Watch();
  const TimePoint before = slurm_->clock().Now();
  slurm_->Tell({"scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=fan 3 is slow"});
  ASSERT_TRUE(Comes("node-drained")) << Everything();
  const watch::Observed drained = Of("node-drained")[0];
  EXPECT_EQ(drained.fact.signal().named(), "n1");
  EXPECT_THAT(drained.fact.signal().raw(), HasSubstr("\"reason\":\"fan 3 is slow\""));
  EXPECT_GE(drained.at.latest, before);
  ExpectHolds(drained, WhenLogged("update_node: node n1 state set to DRAINING"));
  EXPECT_THAT(watch_->OutOfServiceNow(), ElementsAre("n1"));
  const size_t steps = slurm_->Steps("n1");
  ASSERT_TRUE(Eventually(seconds(60), [&] { return slurm_->Steps("n1") > steps; })) << Everything();
  EXPECT_THAT(Of("job-requeued"), IsEmpty());
  EXPECT_THAT(Of("node-failed"), IsEmpty());
}

TEST_F(WatchedSlurm, AControllerThatIsGoneIsAGapUntilItIsBack) {
  pipeline_.mutable_slurm()->mutable_timeout()->set_seconds(2);
  Watch();
  slurm_->LoseController();
  ASSERT_TRUE(Eventually(seconds(60), [&] { return !Gaps().empty(); })) << Everything();
  EXPECT_EQ(Gaps()[0].source(), "slurm");
  EXPECT_FALSE(Gaps()[0].over());
  EXPECT_THAT(watch_->Problems(), ::testing::Not(IsEmpty()));
  // Its empty answers are none: no node and no job is told to be gone, and nobody new may begin to watch.
  EXPECT_FALSE(Start().ok());
  EXPECT_THAT(Gaps(), SizeIs(::testing::Le(2)));

  slurm_->StartController(/*anew=*/false);
  ASSERT_TRUE(Eventually(seconds(60), [&] { return watch_->Problems().empty(); })) << Everything();
  EXPECT_TRUE(Gaps().back().over());
  EXPECT_THAT(Of("node-down"), IsEmpty());
  EXPECT_THAT(Of("job-requeued"), IsEmpty());
  EXPECT_THAT(Of("job-failed"), IsEmpty());
}

TEST_F(WatchedSlurm, AFailedTaskFailsTheJobWhichIsNotRequeued) {
  Watch();
  slurm_->FailJob();
  ASSERT_TRUE(Comes("job-failed")) << Everything();
  EXPECT_THAT(Of("job-failed")[0].fact.signal().raw(), HasSubstr("NonZeroExitCode"));
  // It is COMPLETING for a while in between.
  EXPECT_GE(Of("job-failed")[0].at.latest, WhenLogged("_job_complete: JobId=1 WEXITSTATUS 3"));
  EXPECT_THAT(Of("job-requeued"), IsEmpty());
  EXPECT_THAT(Of("node-joined"), IsEmpty());
  EXPECT_TRUE(Comes("node-returned", 3)) << Everything();
  EXPECT_THAT(watch_->OutOfServiceNow(), IsEmpty());
}

TEST_F(WatchedSlurm, APartitionWithOtherNodesIsRefused) {
  partition_.mutable_nodes(3)->set_name("n9");
  const auto watch = Start();
  ASSERT_FALSE(watch.ok());
  EXPECT_THAT(std::string(watch.status().message()), HasSubstr("has no node n9"));
}

}  // namespace
}  // namespace triodrill
