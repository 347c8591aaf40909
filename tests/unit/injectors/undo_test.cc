// triodrill-undo as a program: what it does, what it says, how it exits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "injectors/journal/journal.h"
#include "injectors/process/pause.h"
#include "tests/unit/injectors/child.h"

namespace triodrill {
namespace {

using testing::Aim;
using testing::Child;
using testing::Eventually;
using testing::Finished;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunProgram;
using testing::TemporaryDirectory;

constexpr char kUndo[] = TRIODRILL_BIN_DIR "/triodrill-undo";

class Undo : public ::testing::Test {
 protected:
  // Leaves a paused target and its record, as an agent that was killed would.
  v1::UndoRecord Owe(
      const Child& target, const std::function<void(v1::UndoRecord*)>& change = [](v1::UndoRecord*) {}) {
    const auto injector = MakeProcessPause();
    auto record = injector->Prepare(Aim("process.pause", target.identity()));
    EXPECT_TRUE(record.ok()) << record.status();
    change(&*record);
    const auto journal = UndoJournal::Open(directory_.path());
    EXPECT_TRUE((*journal)->Record(*record).ok());
    EXPECT_TRUE(injector->Apply(*record).ok());
    EXPECT_TRUE(Eventually([&] { return target.State() == 'T'; }));
    return *record;
  }
  Finished Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {kUndo, "--journal", directory_.path()});
    return RunProgram(arguments);
  }
  bool JournalIsEmpty() const { return ReadJournal(directory_.path())->empty(); }

  const TemporaryDirectory directory_;
};

TEST_F(Undo, TakesBackWhatIsOwed) {
  const Child target = Child::Idle();
  Owe(target);
  const Finished undone = Run({});
  EXPECT_EQ(undone.code, 0) << undone.err;
  EXPECT_THAT(undone.out, HasSubstr("undone 1.a.0 (process.pause on process/"));
  const auto traces = ReadTraces(directory_.path());
  ASSERT_EQ(traces->size(), 1u) << "whoever asks later hears that it is done";
  EXPECT_EQ(traces->front().shot(), "1.a.0");
  EXPECT_LT(traces->front().earliest_ns(), traces->front().latest_ns());
  EXPECT_TRUE(target.Runs());
  EXPECT_TRUE(JournalIsEmpty());
  EXPECT_THAT(Run({}).out, HasSubstr("nothing is owed"));
}

TEST_F(Undo, ListsWithoutTouchingAnythingWhileAnAgentRuns) {
  const Child target = Child::Idle();
  Owe(target);
  const auto agent = UndoJournal::Open(directory_.path());
  ASSERT_TRUE(agent.ok());
  const Finished listed = Run({"--list"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("process.pause"));
  EXPECT_THAT(listed.out, HasSubstr(Cat("kill -CONT ", target.pid())));
  EXPECT_THAT(Run({"--list", "--json"}).out, HasSubstr("\"startTimeTicks\""));
  EXPECT_EQ(target.State(), 'T');
  const Finished replayed = Run({});
  EXPECT_EQ(replayed.code, 69) << "the agent has the journal";
  EXPECT_EQ(target.State(), 'T');
}

TEST_F(Undo, GoesOnAfterOneThatCannotBeUndoneAndSaysWhatToDoByHand) {
  const Child target = Child::Idle();
  const Child other = Child::Idle();
  Owe(target);
  {  // a record of a kind that this program does not know, sorted before the other
    auto strange = MakeProcessPause()->Prepare(Aim("process.pause", other.identity(), "0.a.0"));
    strange->mutable_fault()->set_kind("node.explode");
    strange->set_by_hand("call the fire brigade");
    ASSERT_TRUE((*UndoJournal::Open(directory_.path()))->Record(*strange).ok());
  }
  const Finished undone = Run({});
  EXPECT_EQ(undone.code, 5);
  EXPECT_THAT(undone.err, HasSubstr("NOT CONFIRMED 0.a.0.undo: no injector of this program"));
  EXPECT_THAT(undone.err, HasSubstr("by hand: call the fire brigade"));
  EXPECT_THAT(undone.out, HasSubstr("undone 1.a.0"));
  EXPECT_TRUE(target.Runs());
  const Finished again = Run({"--json"});
  EXPECT_EQ(again.code, 5);
  EXPECT_THAT(again.out, HasSubstr("\"confirmed\": false"));
}

TEST_F(Undo, NeverTakesARecordThatCannotBeReadForDone) {
  std::ofstream(directory_.path() + "/1.a.0.undo") << "torn";
  const Finished undone = Run({});
  EXPECT_EQ(undone.code, 5);
  EXPECT_THAT(undone.err, HasSubstr("NOT CONFIRMED 1.a.0.undo: undo record is unreadable"));
  EXPECT_EQ(Run({"--list"}).code, 65);
  EXPECT_EQ(Run({"--forget", "1.a.0"}).code, 0);
  EXPECT_EQ(Run({}).code, 0);
  EXPECT_EQ(Run({"--forget", "1.a.0"}).code, 64);
}

TEST_F(Undo, SaysWhyARecordOfAnEarlierBootIsOver) {
  const Child target = Child::Idle();
  Owe(target, [](v1::UndoRecord* record) { record->set_boot_id("00000000-0000-0000-0000-000000000000"); });
  const Finished undone = Run({});
  EXPECT_EQ(undone.code, 0) << undone.err;
  EXPECT_THAT(undone.out, HasSubstr("earlier boot"));
  EXPECT_EQ(target.State(), 'T') << "whoever has that pid now is none of its business";
}

TEST_F(Undo, RefusesADirectoryThatIsNotThere) {
  const Finished undone = RunProgram({kUndo, "--journal", directory_.path() + "/nowhere"});
  EXPECT_EQ(undone.code, 64);
  EXPECT_THAT(undone.err, HasSubstr("nothing was looked at"));
}

TEST_F(Undo, SaysHowItIsUsed) {
  const Finished help = RunProgram({kUndo, "--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* option : {"--journal", "--list", "--json", "--guard", "--forget", "Exit: 0"}) {
    EXPECT_THAT(help.out, HasSubstr(option));
  }
  EXPECT_EQ(RunProgram({kUndo}).code, 64);
  EXPECT_EQ(Run({"--list", "--guard", "3"}).code, 64);
  EXPECT_EQ(Run({"--what"}).code, 64);
}

TEST_F(Undo, AsGuardianTakesBackTheMomentTheAgentDies) {
  const Child target = Child::Idle();
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  Child guardian([&] {
    ::close(pipe_ends[1]);
    const std::string fd = Cat(pipe_ends[0]);
    ::execl(kUndo, kUndo, "--journal", directory_.path().c_str(), "--guard", fd.c_str(), nullptr);
    ::_exit(127);
  });
  Child agent([&] {
    Owe(target);
    ::pause();  // with the pipe open, and the journal's lock gone: the guardian must wait all the same
  });
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  ASSERT_TRUE(Eventually([&] { return target.State() == 'T'; }));
  ASSERT_TRUE(Eventually([&] {
    const auto status = ReadProcessStatus(guardian.pid());
    return status.ok() && (status->ignored >> (SIGTERM - 1) & 1) != 0;
  }));
  ::kill(guardian.pid(), SIGTERM);
  EXPECT_EQ(target.State(), 'T');
  agent.Kill();
  const int status = guardian.Reap();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(target.Runs());
  EXPECT_TRUE(JournalIsEmpty());
}

TEST_F(Undo, LinksNoGrpc) {
  const Finished linked = RunProgram({"readelf", "--dynamic", kUndo});
  if (linked.code == 127) GTEST_SKIP() << "readelf is not installed";
  ASSERT_EQ(linked.code, 0) << linked.err;
  EXPECT_THAT(linked.out, HasSubstr("(NEEDED)"));
  EXPECT_THAT(linked.out, Not(HasSubstr("grpc")));
  const Finished whole = RunProgram({"ldd", kUndo});
  EXPECT_THAT(whole.out, Not(HasSubstr("grpc"))) << "nor does anything that it links";
}

}  // namespace
}  // namespace triodrill
