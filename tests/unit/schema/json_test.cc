#include "triodrill/schema/json.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "triodrill/v1/plan.pb.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::HasSubstr;

v1::Fact Landed() {
  v1::Fact fact;
  fact.set_sequence(7);
  fact.mutable_at()->set_earliest_ns(std::numeric_limits<int64_t>::max());
  fact.mutable_at()->set_latest_ns(std::numeric_limits<int64_t>::min());
  fact.set_trial(1);
  fact.mutable_landed()->set_shot("1.kill.0");
  fact.mutable_landed()->set_evidence("pidfd readable");
  return fact;
}

std::string Refusal(std::string_view text) {
  v1::Fact fact;
  const Status status = FromJson(text, fact);
  return status.ok() ? "accepted" : std::string(status.message());
}

TEST(Json, IsOneLineInTheOrderOfFieldNumbersWithPlainIntegers) {
  EXPECT_EQ(ToJson(Landed()),
            R"({"sequence":7,"at":{"earliest_ns":9223372036854775807,"latest_ns":-9223372036854775808},)"
            R"("trial":1,"landed":{"shot":"1.kill.0","evidence":"pidfd readable"}})");
}

TEST(Json, IsIndentedOnRequest) {
  v1::Fact fact;
  fact.set_sequence(1);
  fact.mutable_baseline()->add_serving("n0/0");
  EXPECT_EQ(ToPrettyJson(fact),
            "{\n  \"sequence\": 1,\n  \"baseline\": {\n    \"serving\": [\n      \"n0/0\"\n    ]\n  }\n}\n");
}

TEST(Json, ReadsBackWhatItWrote) {
  v1::Fact back;
  ASSERT_TRUE(FromJson(ToJson(Landed()), back).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(Landed(), back));
  ASSERT_TRUE(FromJson(ToPrettyJson(Landed()), back).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(Landed(), back));
}

TEST(Json, AnEmptyMemberOfAOneofIsKept) {
  v1::Fact fact;
  fact.mutable_trial_ended();
  EXPECT_EQ(ToJson(fact), R"({"trial_ended":{}})");
  v1::Fact back;
  ASSERT_TRUE(FromJson(ToJson(fact), back).ok());
  EXPECT_TRUE(back.has_trial_ended());
}

TEST(Json, DoublesReadBackToTheSameBits) {
  std::mt19937_64 random(42);
  for (int i = 0; i < 20'000; ++i) {
    const auto bits = random();
    double value = 0;
    static_assert(sizeof bits == sizeof value);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    v1::BaselineSteady fact, back;
    fact.set_steps_per_s(value);
    ASSERT_TRUE(FromJson(ToJson(fact), back).ok()) << ToJson(fact);
    const double read = back.steps_per_s();
    ASSERT_EQ(std::bit_cast<uint64_t>(read), bits) << ToJson(fact);
  }
}

TEST(Json, DurationsAreExactSeconds) {
  v1::Hold hold;
  hold.mutable_for_()->set_seconds(1);
  hold.mutable_for_()->set_nanos(500'000'000);
  hold.mutable_max()->set_nanos(1);
  EXPECT_EQ(ToJson(hold), R"({"for":"1.5s","max":"0.000000001s"})");
  v1::Hold back;
  ASSERT_TRUE(FromJson(ToJson(hold), back).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(hold, back));
  back.mutable_max()->set_seconds(-3);
  back.mutable_max()->set_nanos(-250'000'000);
  EXPECT_EQ(ToJson(back), R"({"for":"1.5s","max":"-3.25s"})");
}

TEST(Json, EnumsAreNames) {
  v1::SignalSeen signal;
  signal.set_means(v1::DETECTED);
  EXPECT_EQ(ToJson(signal), R"({"means":"DETECTED"})");
}

TEST(Json, AnyByteOfALogLineComesOutAsValidText) {
  v1::SignalSeen signal, back;
  signal.set_raw(std::string("a\0\x01\x1f\"\\\n\t\x7f\xff\xc0\x80\xed\xa0\x80 \xc3\xa9 \xf0\x9f\x94\xa5", 23));
  const std::string json = ToJson(signal);
  ASSERT_TRUE(FromJson(json, back).ok()) << json;
  EXPECT_EQ(ToJson(back), json);
  EXPECT_THAT(json, HasSubstr("a\\u0000\\u0001\\u001f\\\"\\\\\\n\\t"));
}

TEST(Json, NotANumberCannotBeReadBack) {
  v1::BaselineSteady fact, back;
  fact.set_steps_per_s(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(FromJson(ToJson(fact), back).ok());
}

TEST(Json, UnknownAndDuplicateKeysAreRefused) {
  EXPECT_THAT(Refusal(R"({"sequenze":1})"), HasSubstr("unknown key `sequenze` in Fact"));
  EXPECT_THAT(Refusal(R"({"sequence":1,"sequence":2})"), HasSubstr("duplicate key `sequence`"));
  EXPECT_THAT(Refusal(R"({"at":{"earliest_ns":1,"earliest_ns":1}})"), HasSubstr("at.earliest_ns: duplicate key"));
  EXPECT_THAT(Refusal(R"({"landed":{},"failed":{}})"), HasSubstr("`failed` beside another of `what`"));
}

TEST(Json, WrongTypesAreRefused) {
  EXPECT_THAT(Refusal(R"({"sequence":"1"})"), HasSubstr("sequence: a string where a int64 belongs"));
  EXPECT_THAT(Refusal(R"({"sequence":1.5})"), HasSubstr("the number 1.5"));
  EXPECT_THAT(Refusal(R"({"sequence":true})"), HasSubstr("true or false"));
  EXPECT_THAT(Refusal(R"({"sequence":null})"), HasSubstr("null"));
  EXPECT_THAT(Refusal(R"({"sequence":[1]})"), HasSubstr("a list where"));
  EXPECT_THAT(Refusal(R"({"sequence":{}})"), HasSubstr("an object where"));
  EXPECT_THAT(Refusal(R"({"at":1})"), HasSubstr("a number where a message"));
  EXPECT_THAT(Refusal(R"({"at":[{}]})"), HasSubstr("a list where a single"));
  EXPECT_THAT(Refusal(R"({"baseline":{"serving":"n0/0"}})"), HasSubstr("a single value where a list"));
  EXPECT_THAT(Refusal(R"({"baseline":{"serving":[["n0/0"]]}})"), HasSubstr("a list where"));
  EXPECT_THAT(Refusal(R"({"signal":{"means":"SEEN"}})"), HasSubstr("no such Meaning: SEEN"));
  EXPECT_THAT(Refusal(R"({"signal":{"means":2}})"), HasSubstr("a number where a enum"));
}

TEST(Json, NumbersOutOfRangeAreRefused) {
  EXPECT_THAT(Refusal(R"({"sequence":9223372036854775808})"), HasSubstr("out of range"));
  EXPECT_THAT(Refusal(R"({"trial":2147483648})"), HasSubstr("out of range"));
  EXPECT_THAT(Refusal(R"({"trial":-2147483649})"), HasSubstr("out of range"));
  EXPECT_THAT(Refusal(R"({"baseline":{"steps_per_s":1e999}})"), HasSubstr("at byte"));
  v1::Trials trials;
  EXPECT_FALSE(FromJson(R"({"seed":-1})", trials).ok());
  ASSERT_TRUE(FromJson(R"({"seed":18446744073709551615})", trials).ok());
  EXPECT_EQ(trials.seed(), std::numeric_limits<uint64_t>::max());
}

TEST(Json, WhatIsNotAnObjectIsRefused) {
  for (const char* text : {"", " ", "1", "true", "null", "\"x\"", "[]", "{", "{\"sequence\":", "{} {}", "{}x", "\xff",
                           "{\"sequence\":1,}", "{'sequence':1}", "{\"sequence\":01}", "NaN"}) {
    EXPECT_NE(Refusal(text), "accepted") << text;
  }
}

TEST(Json, DeepNestingIsRefusedWithoutDescending) {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += R"({"at":)";
  EXPECT_NE(Refusal(deep), "accepted");
  EXPECT_NE(Refusal(std::string(1'000'000, '[')), "accepted");
  EXPECT_NE(Refusal("{\"at\":" + std::string(1'000'000, '[')), "accepted");
}

TEST(Json, DurationsThatAreNotSecondsAreRefused) {
  for (const char* text :
       {"", "s", "1", "1ms", "1.s", ".5s", "1.0000000001s", "--1s", "1e3s", "9999999999999s", "- 1s"}) {
    v1::Hold hold;
    EXPECT_FALSE(FromJson(std::string(R"({"for":")") + text + "\"}", hold).ok()) << text;
  }
}

// Every truncation and many corruptions of a real line: an error or a message, never a crash.
TEST(Json, DamagedLinesNeverCrash) {
  const std::string line = ToJson(Landed());
  std::mt19937 random(1);
  for (size_t i = 0; i < line.size(); ++i) EXPECT_NE(Refusal(line.substr(0, i)), "accepted") << i;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = line;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    v1::Fact fact, again;
    if (FromJson(damaged, fact).ok()) {
      ASSERT_TRUE(FromJson(ToJson(fact), again).ok());
      ASSERT_EQ(ToJson(fact), ToJson(again));
    }
  }
}

}  // namespace
}  // namespace triodrill
