#include "coordinator/watch/line_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triodrill::watch {
namespace {

using testing::ElementsAre;

Instant Between(int64_t from_ns, int64_t to_ns) { return {FromNanos(from_ns), FromNanos(to_ns)}; }

class LineSplitting : public testing::Test {
 protected:
  void Feed(std::string_view bytes, Instant at = Between(0, 1)) { splitter_.Feed(bytes, at, lines_); }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const Line& line : lines_) texts.push_back(line.text);
    return texts;
  }

  LineSplitter splitter_{"/log"};
  std::vector<Line> lines_;
};

TEST_F(LineSplitting, FinishesALineWithItsNewline) {
  Feed("one\ntwo\nthr");
  EXPECT_THAT(Texts(), ElementsAre("one", "two"));
  Feed("ee\n");
  EXPECT_THAT(Texts(), ElementsAre("one", "two", "three"));
}

TEST_F(LineSplitting, GivesALineTheInstantOfItsLastBytes) {
  Feed("half", Between(10, 20));
  Feed(" whole\nnext", Between(30, 40));
  Feed("\n", Between(50, 60));
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[0].at, Between(30, 40));
  EXPECT_EQ(lines_[1].at, Between(50, 60));
}

TEST_F(LineSplitting, CountsLinesAndBytes) {
  Feed("one\n\nthree\n");
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_EQ(lines_[2].number, 3);
  EXPECT_EQ(lines_[2].offset, 5);
  EXPECT_EQ(lines_[2].path, "/log");
  EXPECT_EQ(splitter_.counts().lines, 3);
}

TEST_F(LineSplitting, AnyCutOfTheBytesGivesTheSameLines) {
  const std::string bytes = "caf\xC3\xA9\n\nRuntimeError: Socket Timeout\r\nx\n";
  Feed(bytes);
  const std::vector<std::string> whole = Texts();
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    LineSplitter splitter("/log");
    std::vector<Line> lines;
    splitter.Feed(std::string_view(bytes).substr(0, cut), Between(0, 1), lines);
    splitter.Feed(std::string_view(bytes).substr(cut), Between(2, 3), lines);
    ASSERT_EQ(lines.size(), whole.size()) << "cut at " << cut;
    for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i].text, whole[i]) << "cut at " << cut;
    EXPECT_EQ(splitter.counts().replaced_bytes, 0);
  }
}

TEST_F(LineSplitting, TakesACarriageReturnForPartOfTheLineEnd) {
  Feed("dos\r\na\rb\n");
  EXPECT_THAT(Texts(), ElementsAre("dos", "a\rb"));
}

TEST_F(LineSplitting, CutsAVeryLongLineAndGoesOnWithTheNext) {
  for (int i = 0; i < 40; ++i) Feed(std::string(10'000, 'x'));
  Feed("\nshort\n");
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_LE(lines_[0].text.size(), LineSplitter::kLongest + sizeof(kCutMarker));
  EXPECT_TRUE(lines_[0].text.ends_with(kCutMarker));
  EXPECT_EQ(lines_[1].text, "short");
  EXPECT_EQ(lines_[1].offset, 400'001);
  EXPECT_EQ(splitter_.counts().cut_lines, 1);
}

TEST_F(LineSplitting, KeepsALineOfExactlyTheLongestLength) {
  Feed(std::string(LineSplitter::kLongest, 'x') + "\n");
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].text.size(), LineSplitter::kLongest);
  EXPECT_EQ(splitter_.counts().cut_lines, 0);
}

TEST_F(LineSplitting, DoesNotCountACharacterThatTheCutWentThroughAsInvalid) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string bytes(shift, 'a');
    while (bytes.size() < LineSplitter::kLongest + 8) bytes += "\xF0\x9F\x98\x80";
    Feed(bytes + "\n");
  }
  EXPECT_EQ(splitter_.counts().replaced_bytes, 0);
  EXPECT_EQ(splitter_.counts().cut_lines, 4);
}

TEST_F(LineSplitting, ReplacesAndCountsWhatIsNotUtf8) {
  Feed(
      "a\xFF"
      "b\xFE\n");
  EXPECT_THAT(Texts(), ElementsAre("a\xEF\xBF\xBD"
                                   "b\xEF\xBF\xBD"));
  EXPECT_EQ(splitter_.counts().replaced_bytes, 2);
}

TEST_F(LineSplitting, PassesOverTheHoleBeforeALine) {
  Feed(std::string(200'000, '\0'));
  Feed(std::string(5, '\0') + "step 7\n");
  EXPECT_THAT(Texts(), ElementsAre("step 7"));
  EXPECT_EQ(lines_[0].offset, 200'005);
  EXPECT_EQ(splitter_.counts().cut_lines, 0);
  EXPECT_EQ(splitter_.counts().replaced_bytes, 0);
}

TEST_F(LineSplitting, ReplacesANulWithinALine) {
  Feed(std::string("a\0b\n", 4));
  EXPECT_THAT(Texts(), ElementsAre("a\xEF\xBF\xBD"
                                   "b"));
}

TEST_F(LineSplitting, FinishesALineWithoutNewlineWhenTheFileHasEnded) {
  Feed("one\nlast words", Between(10, 20));
  splitter_.EndOfFile(lines_);
  EXPECT_THAT(Texts(), ElementsAre("one", "last words"));
  EXPECT_EQ(lines_[1].at, Between(10, 20));
  Feed("anew\n");
  EXPECT_EQ(lines_[2].number, 1);
  EXPECT_EQ(lines_[2].offset, 0);
}

TEST_F(LineSplitting, PassesOverTheRestOfALineItBeganWithin) {
  splitter_.BeginAt(1000, true);
  Feed("rest of a line");
  Feed(" and more\nfirst\n");
  EXPECT_THAT(Texts(), ElementsAre("first"));
  EXPECT_EQ(lines_[0].offset, 1024);
}

TEST_F(LineSplitting, BeginsAtOnceBetweenLines) {
  splitter_.BeginAt(1000, false);
  Feed("first\n");
  EXPECT_THAT(Texts(), ElementsAre("first"));
  EXPECT_EQ(lines_[0].offset, 1000);
}

}  // namespace
}  // namespace triodrill::watch
