// The short way of writing and reading a fact of progress is the schema's way, to the byte and to the field.
#include "reports/evidence/progress_line.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>

#include <limits>
#include <random>

#include "tests/unit/reports/story.h"
#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

using google::protobuf::util::MessageDifferencer;

template <typename Integer>
Integer AnyInteger(std::mt19937_64& random) {
  constexpr auto kLeast = std::numeric_limits<Integer>::min();
  constexpr auto kMost = std::numeric_limits<Integer>::max();
  switch (random() % 6) {
    case 0:
      return 0;
    case 1:
      return kLeast;
    case 2:
      return kMost;
    case 3:
      return static_cast<Integer>(-1 - static_cast<int>(random() % 100));
    default:
      return static_cast<Integer>(random() % 2'000'000'000);
  }
}

std::string AnyText(std::mt19937_64& random) {
  static const std::vector<std::string> kTexts = {"",     "n0/0",     "node-17/3", "a\"b",       "back\\slash",
                                                  "\x01", "\x7f/del", "Zürich",    "\xff\xfe/x", "}],\"prev\":\""};
  return kTexts[random() % kTexts.size()];
}

v1::Fact AnyFact(std::mt19937_64& random) {
  v1::Fact fact;
  fact.set_sequence(AnyInteger<int64_t>(random));
  if (random() % 8 != 0) {
    fact.mutable_at()->set_earliest_ns(AnyInteger<int64_t>(random));
    fact.mutable_at()->set_latest_ns(AnyInteger<int64_t>(random));
  }
  fact.set_trial(AnyInteger<int32_t>(random));
  v1::Progress& progress = *fact.mutable_progress();
  progress.set_slot(AnyText(random));
  progress.set_node(AnyText(random));
  progress.set_rank(AnyInteger<int32_t>(random));
  progress.set_step(AnyInteger<int64_t>(random));
  return fact;
}

// With an instant also where none was said: zero is what that means.
v1::Fact FactOf(const ProgressLine& said) {
  Timeline timeline;
  timeline.progress.Add(said.row, said.slot, said.node, said.rank);
  return AllFacts(timeline).at(0);
}

v1::Fact WithInstant(v1::Fact fact) {
  fact.mutable_at();
  return fact;
}

TEST(ProgressLine, IsWrittenAsTheSchemaSays) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const v1::Fact fact = AnyFact(random);
    std::string written = "before ";
    AppendProgressFact(fact, written);
    ASSERT_EQ(written, "before " + ToJson(fact));
  }
}

TEST(ProgressLine, IsReadAsTheSchemaSaysOrNotAtAll) {
  std::mt19937_64 random(2);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    const v1::Fact fact = AnyFact(random);
    const std::string json = ToJson(fact);
    ProgressLine again;
    if (!ReadProgressLine(json, again)) continue;
    ++read;
    ASSERT_TRUE(MessageDifferencer::Equals(WithInstant(fact), FactOf(again))) << json << "\n" << ToJson(FactOf(again));
  }
  EXPECT_GT(read, 2'000);  // four texts of ten need no escape, and there are two
}

TEST(ProgressLine, TakesNoDamagedTextThatTheSchemaRefusesOrReadsOtherwise) {
  std::mt19937_64 random(3);
  static constexpr char kBytes[] = "\"{}:,0123456789-.eE+ \\abn/\t\x80\xff";
  int read = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string json = ToJson(AnyFact(random));
    const size_t at = random() % json.size();
    const char byte = kBytes[random() % (sizeof kBytes - 1)];
    switch (random() % 3) {
      case 0:
        json[at] = byte;
        break;
      case 1:
        json.insert(at, 1, byte);
        break;
      default:
        json.erase(at, 1 + random() % 3);
    }
    ProgressLine taken;
    if (!ReadProgressLine(json, taken)) continue;
    ++read;
    v1::Fact otherwise;
    ASSERT_TRUE(FromJson(json, otherwise).ok()) << json;
    ASSERT_TRUE(MessageDifferencer::Equals(FactOf(taken), WithInstant(otherwise))) << json;
  }
  EXPECT_GT(read, 1'000);
}

TEST(ProgressLine, IsReadWhereARunWritesIt) {
  ProgressLine said;
  EXPECT_TRUE(ReadProgressLine(R"({"sequence":34,"at":{"earliest_ns":936442775,"latest_ns":1036966664},"trial":1,)"
                               R"("progress":{"slot":"n0/1","node":"n0","rank":1,"step":2}})",
                               said));
  EXPECT_EQ(said.slot, "n0/1");
  EXPECT_EQ(said.row.step, 2);
  EXPECT_FALSE(ReadProgressLine(R"({"sequence":34,"progress":{"step":2}} )", said));
  EXPECT_FALSE(ReadProgressLine(R"({"sequence":34,"run_ended":{}})", said));
  EXPECT_FALSE(ReadProgressLine("", said));
}

// A field that is added to the schema would be left out here.
TEST(ProgressLine, KnowsEveryFieldOfTheSchema) {
  const auto fields = [](const google::protobuf::Descriptor& descriptor) {
    std::vector<std::string> names;
    for (int i = 0; i < descriptor.field_count(); ++i) {
      if (descriptor.field(i)->real_containing_oneof() == nullptr) names.push_back(descriptor.field(i)->name());
    }
    return names;
  };
  EXPECT_THAT(fields(*v1::Fact::descriptor()), testing::ElementsAre("sequence", "at", "trial"));
  EXPECT_THAT(fields(*v1::Instant::descriptor()), testing::ElementsAre("earliest_ns", "latest_ns"));
  EXPECT_THAT(fields(*v1::Progress::descriptor()), testing::ElementsAre("slot", "node", "rank", "step"));
}

}  // namespace
}  // namespace triodrill
