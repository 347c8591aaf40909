#include "coordinator/watch/state_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triodrill::watch {
namespace {

using ::testing::HasSubstr;

v1::Reference Matching(const std::string& match) {
  v1::Reference reference;
  reference.set_match(match);
  return reference;
}
constexpr char kMatch[] = R"(^state step=(?P<step>\d+) shard=(?P<shard>\d+) hash=(?P<hash>[0-9a-f]+)$)";

TEST(StateReference, IsReadLineByLine) {
  const auto states =
      ParseReference(Matching(kMatch), "started\nstate step=20 shard=0 hash=aa\nstate step=20 shard=1 hash=bb\n");
  ASSERT_TRUE(states.ok()) << states.status();
  ASSERT_EQ(states->size(), 2u);
  EXPECT_EQ((*states)[1].step(), 20);
  EXPECT_EQ((*states)[1].shard(), "1");
  EXPECT_EQ((*states)[1].hash(), "bb");
}

TEST(StateReference, ThatTellsNothingIsNoReference) {
  EXPECT_TRUE(absl::IsNotFound(ParseReference(Matching(kMatch), "nothing\n").status()));
  EXPECT_THAT(std::string(ParseReference(Matching("(?P<step>x)"), "x").status().message()), HasSubstr("step and hash"));
}

TEST(StateReference, ThatContradictsItselfIsNoReference) {
  const std::string text = "state step=20 shard=0 hash=aa\nstate step=20 shard=0 hash=ab\n";
  EXPECT_TRUE(absl::IsFailedPrecondition(ParseReference(Matching(kMatch), text).status()));
}

}  // namespace
}  // namespace triodrill::watch
