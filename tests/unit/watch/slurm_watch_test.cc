// The watcher of Slurm and what it starts: real processes, which say what a real Slurm said (slurm_recordings/), and
// write down what they were started with.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "coordinator/os/clock.h"
#include "coordinator/watch/slurm_watch.h"

namespace triodrill::watch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

bool Eventually(const std::function<bool()>& done) {
  for (milliseconds waited{0}; waited < seconds(60); waited += milliseconds(10)) {
    if (done()) return true;
    poll(nullptr, 0, 10);
  }
  return done();
}

class Watched : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/tdXXXXXX";
    dir_ = mkdtemp(name.data());
    // argv and SLURM_CONF, and then whatever lies in NAME.sh.
    for (const char* const program : {"sinfo", "squeue"}) {
      Write(program, absl::StrCat("#!/bin/sh\necho \"", program, " $# $* $SLURM_CONF\" >> ", dir_, "/asked\n. ", dir_,
                                  "/", program, ".sh\n"));
      chmod((dir_ + "/" + program).c_str(), 0700);
    }
    Say("running");
    for (const char* const node : {"n1", "n2", "n3", "n4"}) partition_.add_nodes()->set_name(node);
    v1::Slurm& slurm = *pipeline_.mutable_slurm();
    slurm.set_conf("/etc/slurm/drill.conf");
    slurm.set_partition("shadow");
    slurm.set_job("drill");
    slurm.set_commands(dir_);
    Add("down", v1::ISOLATED).mutable_slurm()->set_node_state("DOWN(\\+.*)?");
    pipeline_.mutable_signals(0)->mutable_of()->set_node("${label.node}");
    pipeline_.mutable_signals(0)->mutable_slurm()->mutable_every()->set_nanos(100'000'000);
    Add("requeued", v1::NOTE).mutable_slurm()->set_job_change("requeued");
  }
  void TearDown() override {
    watch_.reset();
    fs::remove_all(dir_);
  }

  v1::Signal& Add(const std::string& id, v1::Meaning means) {
    v1::Signal& signal = *pipeline_.add_signals();
    signal.set_id(id);
    signal.set_means(means);
    return signal;
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ + "/aside") << text;
    fs::rename(dir_ + "/aside", dir_ + "/" + name);  // who reads it reads one or the other
  }
  // What both answer from now on.
  void Say(const std::string& when) {
    const std::string recordings = TRIODRILL_SOURCE_DIR "/tests/unit/watch/slurm_recordings/" + when;
    Write("sinfo.sh", absl::StrCat("exec cat ", recordings, ".nodes.json\n"));
    Write("squeue.sh", absl::StrCat("exec cat ", recordings, ".jobs.json\n"));
  }
  Result<std::unique_ptr<SlurmWatch>> Start() {
    return SlurmWatch::Start(pipeline_, partition_, clock_, [this](std::vector<Observed> seen) {
      const std::lock_guard lock(mutex_);
      for (Observed& one : seen) seen_.push_back(std::move(one));
    });
  }
  void Watch() {
    auto watch = Start();
    ASSERT_TRUE(watch.ok()) << watch.status();
    watch_ = *std::move(watch);
  }
  std::vector<Observed> Seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::vector<std::string> Asked() {
    std::ifstream file(dir_ + "/asked");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  std::string dir_;
  coordinator::SystemClock clock_;
  v1::PipelineSpec pipeline_;
  v1::PartitionSpec partition_;
  std::mutex mutex_;
  std::vector<Observed> seen_;
  std::unique_ptr<SlurmWatch> watch_;
};

TEST_F(Watched, AsksAndDoesNothingElse) {
  Watch();
  ASSERT_TRUE(Eventually([&] { return Asked().size() >= 6; }));
  EXPECT_THAT(Asked(),
              Each(AnyOf(Eq("sinfo 1 --json /etc/slurm/drill.conf"), Eq("squeue 1 --json /etc/slurm/drill.conf"))));
  EXPECT_THAT(Seen(), IsEmpty());
}

TEST_F(Watched, WhatIsNewIsToldWithinTheLooksThatFrameIt) {
  Watch();
  const TimePoint before = clock_.Now();
  Say("down");
  ASSERT_TRUE(Eventually([&] { return Seen().size() >= 2; }));
  const TimePoint after = clock_.Now();
  for (const Observed& one : Seen()) {
    // The change lies somewhere in this test between the two.
    EXPECT_LE(one.at.earliest, after);
    EXPECT_GE(one.at.latest, before);
    EXPECT_LT(one.at.earliest, one.at.latest);
    EXPECT_THAT(one.fact.signal().source(), HasSubstr("--json, partition shadow"));
  }
  EXPECT_EQ(Seen()[0].fact.signal().named(), "n2");
  EXPECT_THAT(watch_->OutOfServiceNow(), ElementsAre("n2"));
}

TEST_F(Watched, AProfileWithoutSlurmIsNotWatched) {
  pipeline_.clear_slurm();
  const auto watch = Start();
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ(*watch, nullptr);
}

TEST_F(Watched, WithoutAnAnswerWatchingDoesNotBegin) {
  pipeline_.mutable_slurm()->mutable_timeout()->set_seconds(1);
  Say("controller-gone");
  EXPECT_THAT(std::string(Start().status().message()), HasSubstr("errors"));
  Write("sinfo.sh", "echo 'slurm_load_node: Unable to contact slurm controller' >&2; exit 1\n");
  EXPECT_THAT(std::string(Start().status().message()), HasSubstr("Unable to contact slurm controller"));
  Write("sinfo.sh", "exec sleep 600\n");
  EXPECT_THAT(std::string(Start().status().message()), HasSubstr("no answer in time"));
  pipeline_.mutable_slurm()->mutable_timeout()->set_seconds(30);
  Write("sinfo.sh", "exec yes\n");
  EXPECT_THAT(std::string(Start().status().message()), HasSubstr("more than"));
  pipeline_.mutable_slurm()->set_commands(dir_ + "/nowhere");
  EXPECT_FALSE(Start().ok());
}

TEST_F(Watched, ANodeThatIsNoneOfThePartitionsIsRefused) {
  pipeline_.mutable_slurm()->set_partition("production");
  EXPECT_THAT(std::string(Start().status().message()), HasSubstr("production has no node n1"));
}

TEST_F(Watched, SilenceIsAGapAndNoNews) {
  Watch();
  Say("controller-gone");
  ASSERT_TRUE(Eventually([&] { return Seen().size() >= 2; }));  // of nodes and of jobs
  for (const Observed& one : Seen()) {
    EXPECT_TRUE(one.fact.has_monitoring_gap()) << one.fact.ShortDebugString();
    EXPECT_GT(one.at.Width(), seconds(3));
  }
  EXPECT_THAT(watch_->Problems(), SizeIs(2));
  Say("down");
  ASSERT_TRUE(Eventually([&] { return Seen().size() >= 6; }));
  EXPECT_THAT(watch_->Problems(), IsEmpty());
  // What was missed meanwhile is told, with bounds as wide as the gap.
  for (const Observed& one : Seen()) {
    EXPECT_GT(one.at.Width(), seconds(3)) << one.fact.ShortDebugString();
  }
}

}  // namespace
}  // namespace triodrill::watch
