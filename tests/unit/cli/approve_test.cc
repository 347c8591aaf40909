// `triodrill approve`, and what `plan` and `run` make of approvals, as a user calls them: nothing is brought up here.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/e2e/program.h"

namespace triodrill::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using triodrill::testing::Program;
using triodrill::testing::Slurp;
using triodrill::testing::TempDir;

constexpr std::chrono::seconds kPatience{60};
const std::string kSource = TRIODRILL_SOURCE_DIR;
const std::string kDrill = kSource + "/drills/library/hardware/node-lost.yaml";

class ApproveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    UsePartition("approvers", Entry("ana") + Entry("ben"));
    ASSERT_EQ(Plan({}), 0) << err_;
  }

  int Call(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRIODRILL_BIN_DIR "/triodrill");
    Program program(std::move(arguments), dir_ / "out", dir_ / "err");
    const std::optional<int> code = program.Wait(kPatience);
    out_ = program.Out();
    err_ = program.Err();
    return code.value_or(-1);
  }
  // A new key of that person; the entry by which a partition knows it.
  std::string Entry(const std::string& name) {
    EXPECT_EQ(Call({"keygen", "--out", dir_ / name}), 0) << err_;
    const std::string before = "{name: NAME, key: ";
    const size_t key = out_.find(before) + before.size();
    return "    - {name: " + name + ", key: " + out_.substr(key, out_.find('}', key) - key) + "}\n";
  }
  // The partition that is shipped, where approvals are not waived.
  void UsePartition(const std::string& field, const std::string& entries, const std::string& more = "") {
    std::string text = Slurp(kSource + "/drills/partitions/reference.yaml");
    const size_t at = text.find("  waive_approvals:");
    ASSERT_NE(at, std::string::npos);
    const std::string instead = entries.empty() ? "" : "  " + field + ":\n" + entries;
    text.replace(at, text.find('\n', at) + 1 - at, more + instead);
    std::ofstream(dir_ / "partition.yaml") << text;
  }
  int Plan(std::vector<std::string> more) {
    std::vector<std::string> call{"plan", kDrill, "--partition", dir_ / "partition.yaml", "--out", dir_ / "plan.json"};
    for (std::string& one : more) call.push_back(std::move(one));
    return Call(call);
  }
  int Approve(const std::string& name, std::vector<std::string> more = {"--yes"}) {
    std::vector<std::string> call{
        "approve", dir_ / "plan.json",         "--key", dir_ / (name + "/signing.key"), "--as", name,
        "--out",   dir_ / (name + ".approval")};
    for (std::string& one : more) call.push_back(std::move(one));
    return Call(call);
  }
  // Refused before anything is brought up, or the test is over.
  void IsRefused(const std::vector<std::string>& approvals, const std::string& why) {
    std::vector<std::string> call{"run",         kDrill,     "--partition", dir_ / "partition.yaml",
                                  "--state-dir", dir_ / "s", "--out",       dir_ / "bundle"};
    for (const std::string& file : approvals) {
      call.emplace_back("--approval");
      call.push_back(dir_ / file);
    }
    EXPECT_EQ(Call(call), 3) << out_ << err_;
    EXPECT_THAT(err_, HasSubstr(why));
    EXPECT_THAT(err_, HasSubstr("triodrill approve PLAN")) << "the next step is not named";
    EXPECT_FALSE(std::filesystem::exists(dir_ / "s")) << "a sandbox was begun";
    EXPECT_FALSE(std::filesystem::exists(dir_ / "bundle")) << "a run that was refused left a bundle";
  }

  TempDir dir_;
  std::string out_, err_;
};

TEST_F(ApproveTest, ShowsWhatIsApprovedAndSignsIt) {
  ASSERT_EQ(Approve("ana"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("Drill      node-lost"));
  EXPECT_THAT(out_, HasSubstr("Partition  reference"));
  EXPECT_THAT(out_, HasSubstr("lost: node.lost, tier confirm: 2 shots on rank "));
  EXPECT_THAT(out_, HasSubstr("Plan       sha256:"));
  EXPECT_THAT(err_, Not(HasSubstr("warning")));
  EXPECT_THAT(Slurp(dir_ / "ana.approval"), HasSubstr("application/vnd.in-toto+json"));
}

TEST_F(ApproveTest, ThePlanIsTheSameToTheByteEachTime) {
  const std::string first = Slurp(dir_ / "plan.json");
  ASSERT_EQ(Plan({}), 0);
  EXPECT_EQ(Slurp(dir_ / "plan.json"), first);
  ASSERT_EQ(Plan({"--seed", "7"}), 0);
  EXPECT_NE(Slurp(dir_ / "plan.json"), first);
}

// A person at a terminal who types one line.
int AnswerOnATerminal(std::vector<std::string> argv, const std::string& line, const std::string& out) {
  const int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (ours < 0 || grantpt(ours) != 0 || unlockpt(ours) != 0) return -1;
  const std::string theirs = ptsname(ours);
  const int held = open(theirs.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);  // what is typed before they look is kept
  EXPECT_EQ(write(ours, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, theirs.c_str(), O_RDWR | O_NOCTTY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::vector<char*> pointers;
  for (std::string& argument : argv) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  int status = -1;
  const bool started = posix_spawn(&pid, pointers[0], &actions, nullptr, pointers.data(), environ) == 0;
  if (started) waitpid(pid, &status, 0);
  posix_spawn_file_actions_destroy(&actions);
  close(held);
  close(ours);
  return started && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(ApproveTest, AsksOnATerminalAndTakesOnlyYesForYes) {
  const std::vector<std::string> call{TRIODRILL_BIN_DIR "/triodrill",
                                      "approve",
                                      dir_ / "plan.json",
                                      "--key",
                                      dir_ / "ana/signing.key",
                                      "--as",
                                      "ana",
                                      "--out",
                                      dir_ / "ana.approval"};
  for (const char* no : {"n\n", "\n", "yesterday\n", "\x04"}) {
    EXPECT_EQ(AnswerOnATerminal(call, no, dir_ / "terminal"), 3) << no;
    EXPECT_THAT(Slurp(dir_ / "terminal"), HasSubstr("Approve this? [y/N]"));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "ana.approval"));
  }
  EXPECT_EQ(AnswerOnATerminal(call, "y\n", dir_ / "terminal"), 0);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "ana.approval"));
}

TEST_F(ApproveTest, IsNotGivenThroughAPipe) {
  EXPECT_EQ(Approve("ana", {}), 64);
  EXPECT_THAT(err_, HasSubstr("give --yes"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "ana.approval"));
}

TEST_F(ApproveTest, TakesWhatIsToldWrongForAnError) {
  EXPECT_EQ(Approve("ana", {"--yes", "--faults", "lost,found"}), 64);
  EXPECT_THAT(err_, HasSubstr("no fault `found` of this plan needs an approval; those that do: lost"));
  EXPECT_EQ(Approve("ana", {"--yes", "--expires", "8 hours"}), 64);
  EXPECT_EQ(Approve("ana", {"--yes", "--expires", "200h"}), 64);
  EXPECT_THAT(err_, HasSubstr("within 7 days"));
  EXPECT_EQ(Approve("ana", {"--yes", "--expires", "0s"}), 64);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "ana.approval"));
}

TEST_F(ApproveTest, TakesNoPlanThatWasTouched) {
  std::ofstream(dir_ / "plan.json", std::ios::app) << "\n";
  EXPECT_EQ(Approve("ana"), 65);
  EXPECT_THAT(err_, HasSubstr("not a plan as it was written"));
}

TEST_F(ApproveTest, WarnsSomebodyWhomThePartitionDoesNotKnow) {
  Entry("carl");
  ASSERT_EQ(Approve("carl"), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("knows no approver carl"));
  IsRefused({"carl.approval"}, "no approver's here");
}

TEST_F(ApproveTest, APlanSaysWhoMustApproveIt) {
  ASSERT_EQ(Plan({}), 0);
  EXPECT_THAT(out_, HasSubstr("To be approved before it is run, by 1 of 2 persons:\n  lost: node.lost\n"));
  ASSERT_EQ(Call({"plan", kDrill}), 0);
  EXPECT_THAT(out_, HasSubstr("of tier confirm: node.lost; the partition waives approvals: a sandbox on one machine"));
}

TEST_F(ApproveTest, ARunWithoutIsRefusedAndTouchesNothing) { IsRefused({}, "is approved by 0 of 1 person"); }

TEST_F(ApproveTest, ARunWithOneThatCannotBeReadIsRefused) {
  IsRefused({"nowhere"}, "an approval cannot be read");
  std::ofstream(dir_ / "large") << std::string(size_t{1} << 20, 'x');
  IsRefused({"large"}, "larger than 64 KiB");
  std::ofstream(dir_ / "text") << "yes\n";
  IsRefused({"text"}, "not a DSSE envelope");
}

TEST_F(ApproveTest, ARunWithOneOfAnotherPlanIsRefused) {
  ASSERT_EQ(Plan({"--seed", "7"}), 0);
  ASSERT_EQ(Approve("ana"), 0) << err_;
  IsRefused({"ana.approval"}, "it is of another plan");
}

TEST_F(ApproveTest, ARunWithOneThatIsChangedIsRefused) {
  ASSERT_EQ(Approve("ana"), 0) << err_;
  std::string text = Slurp(dir_ / "ana.approval");
  text[20] = text[20] == 'A' ? 'B' : 'A';
  std::ofstream(dir_ / "ana.approval") << text;
  IsRefused({"ana.approval"}, "refused: approval 1");
}

TEST_F(ApproveTest, OfTwoPersonsIsOfTwoPersons) {
  UsePartition("approvers", Entry("dora") + Entry("emil"), "  approvals: 2\n");
  ASSERT_EQ(Plan({}), 0) << err_;
  ASSERT_EQ(Approve("dora"), 0) << err_;
  IsRefused({"dora.approval"}, "is approved by 1 of 2 persons");
  IsRefused({"dora.approval", "dora.approval"}, "one person counts once");
}

TEST_F(ApproveTest, APartitionWhereNobodyIsNamedIsRefused) {
  UsePartition("approvers", "");
  IsRefused({}, "nobody is named who may approve it");
  EXPECT_EQ(Plan({}), 3);
  EXPECT_THAT(out_, HasSubstr("DENY tier_may_be_approved"));
}

TEST_F(ApproveTest, APartitionThatContradictsItselfIsInvalid) {
  UsePartition("approvers", "    - {name: ana, key: MCow}\n");
  EXPECT_EQ(Call({"validate", dir_ / "partition.yaml"}), 65);
  EXPECT_THAT(err_, HasSubstr("the key of approver `ana`"));
  UsePartition("approvers", "    - {name: ana, key: /etc/triodrill/ana.pub}\n");
  EXPECT_EQ(Call({"validate", dir_ / "partition.yaml"}), 65);
  EXPECT_THAT(err_, HasSubstr("a path, and here the key itself is wanted"));
  UsePartition("approvers", "", "  approvals: 2\n");
  EXPECT_EQ(Call({"validate", dir_ / "partition.yaml"}), 65);
  EXPECT_THAT(err_, HasSubstr("2 approvals of 0 approvers"));
}

}  // namespace
}  // namespace triodrill::cli
