#include "triodrill/schema/units.h"

#include <random>

#include "gmock/gmock.h"

namespace triodrill {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

template <typename T>
std::string Refusal(const Result<T>& result) {
  return result.ok() ? "accepted" : std::string(result.status().message());
}

TEST(Duration, IsANumberWithAUnit) {
  EXPECT_EQ(*ParseDuration("500ms"), 500ms);
  EXPECT_EQ(*ParseDuration("10s"), 10s);
  EXPECT_EQ(*ParseDuration("2min"), 2min);
  EXPECT_EQ(*ParseDuration("1h"), 1h);
  EXPECT_EQ(*ParseDuration("1d"), 24h);
  EXPECT_EQ(*ParseDuration("100us"), 100us);
  EXPECT_EQ(*ParseDuration("10ns"), 10ns);
  EXPECT_EQ(*ParseDuration("0s"), 0s);
}

TEST(Duration, FractionsAreExact) {
  EXPECT_EQ(*ParseDuration("1.5s"), 1500ms);
  EXPECT_EQ(*ParseDuration("0.1s"), 100ms);
  EXPECT_EQ(*ParseDuration("0.000000001s"), 1ns);
}

TEST(Duration, WithoutAUnitSaysHowToWriteIt) {
  EXPECT_THAT(Refusal(ParseDuration("10")), HasSubstr("without a unit; write 10s"));
}

TEST(Duration, RefusesWhatIsNotOne) {
  for (const char* text :
       {"",   "s",       "ten",  "-1s",   "+1s", "1.s", ".5s",           "1 s",   " 1s",          "1S",  "1sec",
        "1m", "1h30min", "1e3s", "0x10s", "inf", "nan", "1.0000000001s", "1.5ns", "99999999999d", "10s "}) {
    EXPECT_NE(Refusal(ParseDuration(text)), "accepted") << text;
  }
}

TEST(Duration, IsWrittenInTheLargestWholeUnit) {
  EXPECT_EQ(FormatDuration(0s), "0s");
  EXPECT_EQ(FormatDuration(90s), "90s");
  EXPECT_EQ(FormatDuration(120s), "2min");
  EXPECT_EQ(FormatDuration(1500ms), "1500ms");
  EXPECT_EQ(FormatDuration(24h), "1d");
  EXPECT_EQ(FormatDuration(1ns), "1ns");
}

TEST(Duration, ReadsBackWhatItWrote) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    const Nanos value(static_cast<int64_t>(random() >> (1 + random() % 62)));
    const auto back = ParseDuration(FormatDuration(value));
    ASSERT_TRUE(back.ok()) << FormatDuration(value);
    ASSERT_EQ(*back, value);
  }
}

TEST(Percent, NeedsItsSign) {
  EXPECT_EQ(*ParsePercent("20%"), 20);
  EXPECT_EQ(*ParsePercent("12.5%"), 12.5);
  EXPECT_THAT(Refusal(ParsePercent("20")), HasSubstr("write 20%"));
  EXPECT_NE(Refusal(ParsePercent("%")), "accepted");
  EXPECT_NE(Refusal(ParsePercent("nan%")), "accepted");
}

TEST(Ratio, IsAShareOrAPercentage) {
  EXPECT_EQ(*ParseRatio("0.95"), 0.95);
  EXPECT_EQ(*ParseRatio("95%"), 0.95);
  EXPECT_NE(Refusal(ParseRatio("most")), "accepted");
}

TEST(Bytes, HaveDecimalAndBinaryUnits) {
  EXPECT_EQ(*ParseBytes("512B"), 512);
  EXPECT_EQ(*ParseBytes("10kB"), 10'000);
  EXPECT_EQ(*ParseBytes("64MiB"), 64 << 20);
  EXPECT_EQ(*ParseBytes("0.5KiB"), 512);
  EXPECT_THAT(Refusal(ParseBytes("512")), HasSubstr("write 512B"));
  EXPECT_THAT(Refusal(ParseBytes("1K")), HasSubstr("no such unit `K`"));
  EXPECT_NE(Refusal(ParseBytes("9999999999TiB")), "accepted");
  EXPECT_NE(Refusal(ParseBytes("0.3B")), "accepted");
}

TEST(Rate, IsBitsPerSecond) {
  EXPECT_EQ(*ParseBitsPerSecond("10Mbit/s"), 10'000'000);
  EXPECT_EQ(*ParseBitsPerSecond("2.5Gbit/s"), 2'500'000'000);
  EXPECT_THAT(Refusal(ParseBitsPerSecond("10")), HasSubstr("without a unit"));
}

TEST(Number, IsPlainDecimal) {
  EXPECT_EQ(*ParseNumber("1"), 1);
  EXPECT_EQ(*ParseNumber("-1.5"), -1.5);
  EXPECT_EQ(*ParseNumber("+2"), 2);
  EXPECT_EQ(*ParseNumber("1e3"), 1000);
  for (const char* text : {"", "-", "+", "+-1", "-+1", "nan", "inf", "-inf", "0x10", "1_000", "1,5", " 1", "1 ", "1.",
                           ".5", "1e", "1e999", "--1"}) {
    EXPECT_NE(Refusal(ParseNumber(text)), "accepted") << text;
  }
}

TEST(Comparison, HasAnOperatorAndANumber) {
  EXPECT_TRUE(ParseComparison(">= 1")->Holds(1));
  EXPECT_FALSE(ParseComparison("> 0.5")->Holds(0.5));
  EXPECT_TRUE(ParseComparison("<=3")->Holds(3));
  EXPECT_TRUE(ParseComparison("< 2")->Holds(1.9));
  EXPECT_FALSE(ParseComparison("== 1")->Holds(2));
  for (const char* text : {"", "1", ">=", "=> 1", "= 1", ">= one", ">= 1 2", ">= nan", "~ 1"}) {
    EXPECT_NE(Refusal(ParseComparison(text)), "accepted") << text;
  }
}

TEST(Identifier, IsLowerCaseLettersDigitsAndInnerHyphens) {
  EXPECT_TRUE(IsIdentifier("kill-one-rank"));
  EXPECT_TRUE(IsIdentifier("a"));
  EXPECT_TRUE(IsIdentifier(std::string(63, 'a')));
  for (const std::string text : {"", "-a", "a-", "A", "a_b", "a.b", "a/b", "../a", "a b", "\xc3\xa9", "a\n"}) {
    EXPECT_FALSE(IsIdentifier(text)) << text;
  }
  EXPECT_FALSE(IsIdentifier(std::string(64, 'a')));
}

}  // namespace
}  // namespace triodrill
