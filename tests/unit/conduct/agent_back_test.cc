// An agent that was lost and comes back: what became of the fault that it held?
#include "coordinator/conduct/conductor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/conduct/stage.h"

namespace triodrill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::PauseDrill;
using testing::Stage;
using What = v1::Fact;

TEST(Conductor, AnAgentThatComesBackWithAnOpenRecordIsAnUnconfirmedUndo) {
  Stage stage(PauseDrill(1, 0));
  bool done = false;
  stage.every_tick = [&](Stage& s) {
    const v1::Fact* landed = s.First(What::kLanded);
    if (landed == nullptr || done) return;
    done = true;
    s.Feed(conduct::AgentLost{landed->landed().node(), "stream broken"});
    v1::OpenFault open;
    open.set_shot(landed->landed().shot());
    open.set_problem("EIO");
    s.Feed(conduct::AgentBack{landed->landed().node(), {open}});
  };
  stage.Run();
  EXPECT_EQ(stage.outcome(), "broken");
}

// Found by the simulation: silence about the shot was taken for its confirmation.
TEST(Conductor, AnAgentThatComesBackWithARecordThatCannotBeReadIsAnUnconfirmedUndo) {
  Stage stage(PauseDrill(1, 0));
  bool done = false;
  stage.every_tick = [&](Stage& s) {
    const v1::Fact* landed = s.First(What::kLanded);
    if (landed == nullptr || done) return;
    done = true;
    s.Feed(conduct::AgentLost{landed->landed().node(), "stream broken"});
    v1::OpenFault open;
    open.set_resource(landed->landed().shot() + ".undo");
    open.set_problem("its checksum is wrong");
    s.Feed(conduct::AgentBack{landed->landed().node(), {open}});
  };
  stage.Run();
  EXPECT_EQ(stage.outcome(), "broken");
  EXPECT_FALSE(stage.First(What::kReverted)->reverted().confirmed());
  EXPECT_THAT(stage.First(What::kReverted)->reverted().problem(), HasSubstr("its checksum is wrong"));
}

TEST(Conductor, AnAgentThatOnlyLostItsStreamIsToldToRevert) {
  Stage stage(PauseDrill(1, 0));
  bool done = false;
  stage.every_tick = [&](Stage& s) {
    const v1::Fact* landed = s.First(What::kLanded);
    if (landed == nullptr || done) return;
    done = true;
    s.Feed(conduct::AgentLost{landed->landed().node(), "stream broken"});
    v1::OpenFault open;
    open.set_shot(landed->landed().shot());
    s.Feed(conduct::AgentBack{landed->landed().node(), {open}});
  };
  stage.Run();
  EXPECT_EQ(stage.outcome(), "finished");
  EXPECT_TRUE(stage.held().empty());
  EXPECT_THAT(stage.log(), ElementsAre("prepare", "arm", "revert"));
}

}  // namespace
}  // namespace triodrill
