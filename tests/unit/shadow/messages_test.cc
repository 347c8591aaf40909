#include "drills/shadow/protocol/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace triodrill::shadow {
namespace {

using testing::HasSubstr;

TEST(ShadowMessages, AnOrderComesBackAsItWas) {
  Join join;
  join.epoch = 7;
  join.rank = 3;
  join.world = 8;
  join.store = "/run/store/7";
  join.source = "checkpoint";
  join.step = 120;
  join.verify = false;
  const Result<ToTrainer> back = DecodeToTrainer(Encode(ToTrainer(join)));
  ASSERT_TRUE(back.ok()) << back.status();
  const Join& seen = std::get<Join>(*back);
  EXPECT_EQ(seen.epoch, 7);
  EXPECT_EQ(seen.rank, 3);
  EXPECT_EQ(seen.store, "/run/store/7");
  EXPECT_EQ(seen.step, 120);
  EXPECT_FALSE(seen.verify);
}

TEST(ShadowMessages, ALossThatIsNotANumberTravels) {
  Beat beat;
  beat.step = 12;
  beat.loss = std::numeric_limits<double>::quiet_NaN();
  beat.gradient_norm = std::numeric_limits<double>::infinity();
  const Result<FromTrainer> back = DecodeFromTrainer(Encode(FromTrainer(beat)));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(std::get<Beat>(*back).step, 12);
  EXPECT_TRUE(std::isnan(std::get<Beat>(*back).loss));
  EXPECT_FALSE(std::isfinite(std::get<Beat>(*back).gradient_norm));
}

TEST(ShadowMessages, ALineThatIsNoTextStillTravels) {
  Beat beat;
  beat.last_line = "torn \xff\xfe line";
  EXPECT_TRUE(DecodeFromTrainer(Encode(FromTrainer(beat))).ok());
}

TEST(ShadowMessages, WhatIsNoMessageIsRefusedByName) {
  EXPECT_THAT(std::string(DecodeToTrainer("{").status().message()), HasSubstr("parse error"));
  EXPECT_THAT(std::string(DecodeToTrainer(R"({"type":"dance"})").status().message()), HasSubstr("'dance'"));
  EXPECT_THAT(std::string(DecodeToTrainer(R"({"type":"halt"})").status().message()), HasSubstr("epoch"));
  EXPECT_FALSE(DecodeToTrainer(R"({"type":"halt","epoch":"three"})").ok());
  EXPECT_FALSE(DecodeFromTrainer(R"({"type":"join","epoch":1})").ok());
}

}  // namespace
}  // namespace triodrill::shadow
