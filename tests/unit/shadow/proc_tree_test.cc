#include "drills/shadow/proc_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace triodrill::shadow {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr pid_t kInit = 1;
constexpr pid_t kAgent = 2;

ProcEntry Process(pid_t pid, pid_t parent, char state = 'S', bool agent_side = false) {
  return {.pid = pid, .parent = parent, .state = state, .start_time = 1, .agent_side = agent_side};
}

std::vector<pid_t> Pids(const std::vector<ProcEntry>& entries) {
  std::vector<pid_t> pids;
  for (const ProcEntry& entry : entries) pids.push_back(entry.pid);
  return pids;
}

TEST(ProcTree, FindsTheWorkloadAndItsOrphans) {
  const std::vector<ProcEntry> all = {Process(kInit, 0), Process(kAgent, kInit), Process(3, kInit), Process(4, 3),
                                      Process(9, kInit, 'T')};
  EXPECT_THAT(Pids(WorkloadProcesses(all, kAgent)), ElementsAre(3, 4, 9));
}

TEST(ProcTree, SparesTheInitTheAgentAndItsChildren) {
  const std::vector<ProcEntry> all = {Process(kInit, 0), Process(kAgent, kInit), Process(5, kAgent), Process(6, 5)};
  EXPECT_THAT(WorkloadProcesses(all, kAgent), IsEmpty());
}

TEST(ProcTree, SparesTheGuardianOfAnAgentThatIsDead) {
  const std::vector<ProcEntry> all = {Process(kInit, 0), Process(5, kInit, 'S', /*agent_side=*/true), Process(6, 5),
                                      Process(7, kInit)};
  EXPECT_THAT(Pids(WorkloadProcesses(all, /*agent=*/0)), ElementsAre(7));
}

TEST(ProcTree, CountsAZombieUntilItIsReaped) {
  const std::vector<ProcEntry> all = {Process(kInit, 0), Process(3, kInit, 'Z')};
  EXPECT_THAT(Pids(WorkloadProcesses(all, kAgent)), ElementsAre(3)) << "other threads of it may be alive";
}

TEST(ProcTree, EndsOnASnapshotThatHoldsACycle) {
  const std::vector<ProcEntry> all = {Process(3, 4), Process(4, 3)};
  EXPECT_THAT(Pids(WorkloadProcesses(all, kAgent)), ElementsAre(3, 4));
}

TEST(ProcTree, ReadsAStatWhoseCommandHoldsParentheses) {
  const std::string text =
      "77 (a) (b c) T 12 77 77 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 4711 1000 10 18446744073709551615\n";
  const std::optional<ProcEntry> entry = ParseStat(text);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->pid, 77);
  EXPECT_EQ(entry->parent, 12);
  EXPECT_EQ(entry->state, 'T');
  EXPECT_EQ(entry->start_time, 4711U);
}

TEST(ProcTree, TakesNoStatThatIsCutShort) {
  for (const char* text : {"", "77", "77 (a", "77 (a) T 12 77", ") ("}) EXPECT_FALSE(ParseStat(text)) << text;
}

TEST(ProcTree, KnowsTheAgentsSideByItsWholeEntry) {
  using std::string_literals::operator""s;
  EXPECT_TRUE(IsAgentEnvironment("A=1\0TRIODRILL_SHADOW_ROLE=agent\0B=2\0"s));
  EXPECT_FALSE(IsAgentEnvironment("A=1\0TRIODRILL_SHADOW_ROLE=workload\0"s));
  EXPECT_FALSE(IsAgentEnvironment("X=TRIODRILL_SHADOW_ROLE=agent\0"s));
  EXPECT_FALSE(IsAgentEnvironment(""));
}

}  // namespace
}  // namespace triodrill::shadow
