#include "reports/evidence/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "reports/evidence/files.h"
#include "tests/unit/reports/scratch.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;

v1::Fact Step(int64_t step) {
  v1::Fact fact;
  fact.mutable_at()->set_earliest_ns(step * 1000);
  fact.mutable_at()->set_latest_ns(step * 1000 + 5);
  fact.set_trial(1);
  fact.mutable_progress()->set_slot("n0/0");
  fact.mutable_progress()->set_step(step);
  return fact;
}

v1::Fact End() {
  v1::Fact fact;
  fact.mutable_run_ended()->set_outcome("finished");
  return fact;
}

class TimelineFile : public ::testing::Test {
 protected:
  // Five steps and the end.
  std::string Written() {
    const std::string path = scratch_.Path("timeline.jsonl");
    std::filesystem::remove(path);
    auto writer = TimelineWriter::Create(path);
    EXPECT_TRUE(writer.ok()) << writer.status();
    for (int step = 1; step <= 5; ++step) EXPECT_TRUE((*writer)->Append(Step(step)).ok());
    EXPECT_TRUE((*writer)->Append(End()).ok());
    EXPECT_TRUE((*writer)->Sync().ok());
    return *ReadWholeFile(path);
  }
  Scratch scratch_;
};

std::string Refusal(const std::string& text) { return std::string(ParseTimeline(text).status().message()); }

TEST_F(TimelineFile, IsReadBackAsItWasWritten) {
  const Result<Timeline> timeline = ParseTimeline(Written());
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_TRUE(timeline->complete);
  EXPECT_EQ(timeline->size(), 6u);
  EXPECT_EQ(timeline->facts.size(), 1u);
  ASSERT_EQ(timeline->progress.size(), 5u);
  for (int64_t i = 0; i < 5; ++i) {
    const ProgressRow& row = timeline->progress.rows()[static_cast<size_t>(i)];
    EXPECT_EQ(row.sequence, i);
    EXPECT_EQ(row.step, i + 1);
    EXPECT_EQ(ToNanos(row.at.latest), (i + 1) * 1000 + 5);
  }
}

TEST_F(TimelineFile, ChainsEachLineToTheOneBefore) {
  const std::string text = Written();
  const size_t first_end = text.find('\n');
  const std::string first = text.substr(0, first_end);
  EXPECT_TRUE(first.ends_with(absl::StrCat("\"prev\":\"", std::string(64, '0'), "\"}"))) << first;
  const std::string second = text.substr(first_end + 1, text.find('\n', first_end + 1) - first_end - 1);
  EXPECT_TRUE(second.ends_with(absl::StrCat("\"prev\":\"", Sha256Hex(first), "\"}"))) << second;
}

TEST_F(TimelineFile, CutAnywhereInItsLastLineMeansThatTheWriterDied) {
  const std::string text = Written();
  const size_t last_line = text.rfind('\n', text.size() - 2) + 1;
  for (size_t length = last_line; length < text.size(); ++length) {
    const Result<Timeline> timeline = ParseTimeline(std::string_view(text).substr(0, length));
    ASSERT_TRUE(timeline.ok()) << timeline.status();
    EXPECT_FALSE(timeline->complete);
    EXPECT_EQ(timeline->size(), 5u);
    EXPECT_THAT(timeline->problem, HasSubstr("writer died"));
  }
}

TEST_F(TimelineFile, WithNothingInItIsIncomplete) {
  const Result<Timeline> timeline = ParseTimeline("");
  ASSERT_TRUE(timeline.ok());
  EXPECT_FALSE(timeline->complete);
}

TEST_F(TimelineFile, RefusesEveryFlippedBitOfAWholeLine) {
  const std::string text = Written();
  // Not the last line: nothing vouches for it but a signature over the whole.
  const size_t last_line = text.rfind('\n', text.size() - 2) + 1;
  int refused = 0;
  for (size_t i = 0; i < last_line; ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(ParseTimeline(changed).ok()) << "byte " << i;
    ++refused;
  }
  EXPECT_GT(refused, 500);
}

TEST_F(TimelineFile, NamesTheLineThatWasTakenOutPutInOrMoved) {
  std::vector<std::string> lines;
  const std::string text = Written();
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    lines.push_back(text.substr(begin, text.find('\n', begin) + 1 - begin));
  }
  const auto joined = [](const std::vector<std::string>& some) {
    std::string all;
    for (const std::string& line : some) all += line;
    return all;
  };
  std::vector<std::string> without = lines;
  without.erase(without.begin() + 2);
  EXPECT_THAT(Refusal(joined(without)), HasSubstr("line 3: \"prev\" is not the digest"));
  std::vector<std::string> twice = lines;
  twice.insert(twice.begin() + 3, lines[2]);
  EXPECT_THAT(Refusal(joined(twice)), HasSubstr("line 4"));
  std::vector<std::string> swapped = lines;
  std::swap(swapped[1], swapped[2]);
  EXPECT_THAT(Refusal(joined(swapped)), HasSubstr("line 2"));
  std::vector<std::string> beheaded(lines.begin() + 1, lines.end());
  EXPECT_THAT(Refusal(joined(beheaded)), HasSubstr("line 1"));
}

TEST_F(TimelineFile, RefusesGarbageWithItsLine) {
  EXPECT_THAT(Refusal("\n"), HasSubstr("line 1"));
  EXPECT_THAT(Refusal("{}\n"), HasSubstr("line 1"));
  EXPECT_THAT(Refusal(absl::StrCat("{\"sequence\":7,\"prev\":\"", std::string(64, '0'), "\"}\n")),
              HasSubstr("line 1: sequence 7 where 0 belongs"));
  EXPECT_THAT(Refusal(absl::StrCat("{\"color\":1,\"prev\":\"", std::string(64, '0'), "\"}\n")), HasSubstr("line 1"));
}

TEST_F(TimelineFile, IsNeverWrittenOverAnother) {
  Written();
  const auto writer = TimelineWriter::Create(scratch_.Path("timeline.jsonl"));
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(TimelineFile, SurvivesHostileText) {
  const std::string path = scratch_.Path("hostile.jsonl");
  {
    auto writer = TimelineWriter::Create(path);
    ASSERT_TRUE(writer.ok());
    v1::Fact fact = End();
    fact.mutable_run_ended()->set_problem(
        absl::StrCat("line\nbreak \"quote\" \\ ,\"prev\":\"", std::string(64, 'f'), "\"}\n\xE2\x80\xA8 \x1b[31m"));
    ASSERT_TRUE((*writer)->Append(fact).ok());
  }
  const Result<Timeline> timeline = ReadTimeline(path);
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  ASSERT_EQ(timeline->size(), 1u);
  EXPECT_THAT(timeline->facts[0].run_ended().problem(), HasSubstr("line\nbreak \"quote\""));
}

TEST_F(TimelineFile, RefusesAFactThatEndsBeforeItBegins) {
  auto writer = TimelineWriter::Create(scratch_.Path("backwards.jsonl"));
  ASSERT_TRUE(writer.ok());
  v1::Fact fact = Step(1);
  fact.mutable_at()->set_latest_ns(0);
  EXPECT_FALSE((*writer)->Append(fact).ok());
  EXPECT_FALSE((*writer)->Append(v1::Fact()).ok()) << "a fact that says nothing";
}

TEST(TimelineWriter, SaysWhichFileItCouldNotMake) {
  const auto writer = TimelineWriter::Create("/nowhere/at/all/timeline.jsonl");
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("/nowhere/at/all/timeline.jsonl"));
}

TEST(MemorySink, NumbersFactsAndKnowsWhenTheRunIsOver) {
  MemorySink sink;
  ASSERT_TRUE(sink.Append(Step(1)).ok());
  EXPECT_FALSE(sink.Snapshot().complete);
  ASSERT_TRUE(sink.Append(End()).ok());
  EXPECT_TRUE(sink.Snapshot().complete);
  EXPECT_EQ(sink.Snapshot().facts.at(0).sequence(), 1);
  EXPECT_EQ(sink.Snapshot().size(), 2u);
}

TEST(Timeline, IsNotOverWhereSomebodyStillMadeAStepAfterItsEnd) {
  Timeline timeline;
  EXPECT_FALSE(timeline.EndsWithRunEnded());
  v1::Fact end = End();
  end.set_sequence(0);
  timeline.Add(end);
  EXPECT_TRUE(timeline.EndsWithRunEnded());
  v1::Fact step = Step(1);
  step.set_sequence(1);
  timeline.Add(step);
  EXPECT_FALSE(timeline.EndsWithRunEnded());
}

TEST(ProgressTable, KnowsASlotAgainUnderAnotherNodeAndRank) {
  ProgressTable table;
  table.Add({.sequence = 0, .step = 7}, "n0/1", "n0", 1);
  table.Add({.sequence = 1, .step = 8}, "n1/0", "n1", 2);
  table.Add({.sequence = 2, .step = 9}, "n0/1", "n0", 3);
  table.Add({.sequence = 3, .step = 10}, "n0/1", "n0", 1);
  EXPECT_EQ(table.slots(), (std::vector<std::string>{"n0/1", "n1/0"}));
  const auto rank = [&](size_t i) { return table.SourceOf(table.rows()[i]).rank; };
  EXPECT_EQ(rank(0), 1);
  EXPECT_EQ(rank(2), 3);
  EXPECT_EQ(table.rows()[3].source, table.rows()[0].source);
  EXPECT_EQ(table.SlotOf(table.rows()[2]), "n0/1");
  EXPECT_EQ(table.SourceOf(table.rows()[2]).slot_number, 0u);
  EXPECT_EQ(table.rows()[1].step, 8);
}

TEST(ProgressTable, IsAValue) {
  ProgressTable first;
  first.Add({.step = 1}, "n0/0", "n0", 0);
  ProgressTable second = first;
  second.Add({.step = 2}, "n1/0", "n1", 1);
  EXPECT_EQ(first.size(), 1u);
  EXPECT_EQ(second.SlotOf(second.rows()[1]), "n1/0");
}

}  // namespace
}  // namespace triodrill
