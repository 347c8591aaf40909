// SIGKILL at every step of prepare, record, apply, inspect, revert and discharge, and for each of those again at every
// step of the replay. Afterwards the target must be as it was and the journal empty.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <set>

#include "injectors/catalog.h"
#include "injectors/journal/journal.h"
#include "injectors/journal/settle.h"
#include "injectors/os/step.h"
#include "tests/crash/scene.h"
#include "tests/unit/injectors/child.h"
#include "triodrill/text.h"
#include "triodrill/time.h"

namespace triodrill {
namespace {

using testing::Child;
using testing::Eventually;
using testing::MakeScene;
using testing::RunProgram;
using testing::Scene;
using testing::TemporaryDirectory;

// In the dying process: counts steps, and ends it at one of them. The step's name survives in shared memory.
int steps_left = 0;
char* last_step = static_cast<char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));

void DieInTime(const char* name) {
  if (--steps_left != 0) return;
  std::strncpy(last_step, name, 200);
  ::kill(::getpid(), SIGKILL);
}

enum class Death { kKilled, kDone, kFailed };

// Runs `body` in a child that dies at step `at` (0 = never).
Death DyingAt(int at, const std::function<bool()>& body) {
  Child child([&] {
    steps_left = at;
    SetStepHook(&DieInTime);
    ::_exit(body() ? 0 : 1);
  });
  const int status = child.Reap();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return Death::kKilled;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Death::kDone : Death::kFailed;
}

enum class Order { kRecordThenApply, kApplyThenRecord };

// What an agent does with one fault, from nothing to nothing.
bool WholeFault(Scene& scene, const std::string& directory, Order order) {
  const auto injector = scene.Make();
  auto journal = UndoJournal::Open(directory);
  if (!journal.ok()) return false;
  auto record = injector->Prepare(scene.Fault());
  if (!record.ok()) return false;
  record->set_max_hold_ns(Nanos(std::chrono::seconds(60)).count());
  Step("prepared");
  if (order == Order::kRecordThenApply && !(*journal)->Record(*record).ok()) return false;
  Step("recorded");
  if (!injector->Apply(*record).ok()) return false;
  Step("applied");
  if (order == Order::kApplyThenRecord && !(*journal)->Record(*record).ok()) return false;
  const bool landed = Eventually([&] {
    const auto effect = injector->Inspect(*record);
    return effect.ok() && effect->presence == Presence::kPresent;
  });
  if (!landed) return false;
  Step("landed");
  if (Settle(*injector, *record).debt != Debt::kNone) return false;
  return (*journal)->Discharge(record->fault().shot()).ok();
}

bool ReplayOnce(const std::string& directory) {
  const auto journal = UndoJournal::Open(directory);
  if (!journal.ok()) return false;
  for (const ReplayOutcome& outcome : Replay(**journal)) {
    if (!outcome.confirmed) return false;
  }
  return true;
}

struct Tally {
  int kills = 0;
  int replays_killed = 0;
  int damaged = 0;
  std::string first_damage;
};

// The last replay is done by the program that a node would run.
void CheckAfterwards(Scene& scene, const std::string& directory, const std::string& where, Tally* tally) {
  const auto undone = RunProgram({TRIODRILL_BIN_DIR "/triodrill-undo", "--journal", directory});
  std::string damage = scene.Damage();
  if (undone.code != 0) damage += Cat("; triodrill-undo exits ", undone.code, ": ", undone.err);
  const auto left = ReadJournal(directory);
  if (!left.ok() || !left->empty()) damage += "; the journal is not empty";
  if (damage.empty()) return;
  ++tally->damaged;
  if (tally->first_damage.empty()) tally->first_damage = Cat(where, ": ", damage);
}

class Crash : public ::testing::TestWithParam<std::string> {
 protected:
  // Dies at every step of the whole fault; and if `replays`, for each of them at every step of the replay.
  void DieEverywhere(Order order, bool replays) {
    for (int at = 1;; ++at) {
      bool more = true;
      for (int again = 0; more; ++again) {
        const Status raised = scene_->Raise();
        if (absl::IsUnavailable(raised)) GTEST_SKIP() << raised;
        ASSERT_TRUE(raised.ok()) << raised;
        const TemporaryDirectory directory;
        const Death death = DyingAt(at, [&] { return WholeFault(*scene_, directory.path(), order); });
        ASSERT_NE(death, Death::kFailed) << "the fault itself does not work, step " << at;
        if (death == Death::kDone) return;
        std::string where = last_step;
        if (again == 0) ++tally_.kills;
        if (again > 0) {
          const Death second = DyingAt(again, [&] { return ReplayOnce(directory.path()); });
          ASSERT_NE(second, Death::kFailed) << "the replay after a death at '" << where << "' does not work";
          if (second == Death::kKilled) {
            ++tally_.replays_killed;
            where += Cat(", then in the replay at ", std::string(last_step));
          }
          more = second == Death::kKilled;
        }
        CheckAfterwards(*scene_, directory.path(), where, &tally_);
        more = more && replays;
      }
    }
  }

  const std::unique_ptr<Scene> scene_ = MakeScene(GetParam());
  Tally tally_;
};

TEST_P(Crash, AnywhereLeavesNothingDamaged) {
  DieEverywhere(Order::kRecordThenApply, true);
  if (IsSkipped()) return;
  std::cout << "crash: " << GetParam() << ": " << tally_.kills << " kills, " << tally_.replays_killed
            << " replays killed, " << tally_.damaged << " left damaged" << std::endl;
  EXPECT_GT(tally_.kills, 0);
  EXPECT_GT(tally_.replays_killed, 0);
  EXPECT_EQ(tally_.damaged, 0) << tally_.first_damage;
}

TEST_P(Crash, IsNoticedIfAFaultIsAppliedBeforeItIsRecorded) {
  if (GetParam() != testing::kDriftOfAGpu && ReversalOf(GetParam()) == v1::NONE)
    GTEST_SKIP() << "nothing of it could be given back anyway";
  DieEverywhere(Order::kApplyThenRecord, false);
  if (IsSkipped()) return;
  std::cout << "crash: " << GetParam() << " applied before it is recorded: " << tally_.kills << " kills, "
            << tally_.damaged << " left damaged" << std::endl;
  EXPECT_GT(tally_.kills, 0);
  // A helper takes its effect back and ends with whoever asked for it, record or not: a net of its own, and this shows
  // it.
  static const std::set<std::string> kWithHelper = {
      "cpu.leak",           "cpu.stutter",    "environment.drift", std::string(testing::kDriftOfAGpu),
      "gpu.burn",           "gpu.dcgm_field", "link.flap",         "node.flapping",
      "process.crash_loop", "storage.full",   "storage.slow"};
  if (kWithHelper.contains(GetParam())) {
    EXPECT_EQ(tally_.damaged, 0) << tally_.first_damage;
  } else {
    EXPECT_GT(tally_.damaged, 0) << "a test that cannot tell the two orders apart proves nothing";
  }
}

std::vector<std::string> AllKinds() {
  std::vector<std::string> kinds;
  for (const InjectorRow& row : Catalog()) kinds.emplace_back(row.kind);
  kinds.emplace_back(testing::kDriftOfAGpu);
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(EachFault, Crash, ::testing::ValuesIn(AllKinds()), [](const auto& kind) {
  std::string name = kind.param;
  for (char& letter : name) letter = letter == '.' || letter == ' ' ? '_' : letter;
  return name;
});

}  // namespace
}  // namespace triodrill
