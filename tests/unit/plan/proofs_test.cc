#include "coordinator/plan/proofs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triodrill::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Signal& Add(v1::PipelineSpec& pipeline, const std::string& id, v1::Meaning means) {
  v1::Signal& signal = *pipeline.add_signals();
  signal.set_id(id);
  signal.set_means(means);
  return signal;
}

TEST(Proofs, NameEachSignalOfAStepAndWhereItComesFrom) {
  v1::PipelineSpec pipeline;
  Add(pipeline, "step", v1::PROGRESS).mutable_log();
  Add(pipeline, "xid-fired", v1::DETECTED).mutable_alertmanager_webhook();
  Add(pipeline, "xid-listed", v1::DETECTED).mutable_alertmanager();
  Add(pipeline, "xid-scraped", v1::DETECTED).mutable_prometheus();
  Add(pipeline, "noted", v1::NOTE).mutable_log();
  pipeline.add_not_applicable("self_check");
  const std::vector<StepProofs> proofs = ProofsOf(pipeline);
  ASSERT_EQ(proofs.size(), 5u);
  EXPECT_EQ(proofs[0].step, "detect");
  EXPECT_THAT(proofs[0].signals,
              ElementsAre("xid-fired (alertmanager webhook)", "xid-listed (alertmanager)", "xid-scraped (prometheus)"));
  EXPECT_TRUE(proofs[1].not_applicable);
  EXPECT_THAT(proofs[2].signals, IsEmpty());
  EXPECT_FALSE(proofs[2].outcome.empty());
  EXPECT_THAT(proofs[4].signals, ElementsAre("step (log)"));
}

}  // namespace
}  // namespace triodrill::plan
