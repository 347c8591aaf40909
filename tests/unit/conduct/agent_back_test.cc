// An agent that was lost and comes back: what became of the fault that it held?
#include "coordinator/conduct/conductor.h"

#include <functional>

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

// Loses the agent once its fault has landed; it is back at once, with what `left` makes of the shot in its journal.
void RunWithAgentBack(Stage& stage, const std::function<v1::OpenFault(const std::string& shot)>& left) {
  bool done = false;
  stage.every_tick = [&](Stage& s) {
    const v1::Fact* landed = s.First(What::kLanded);
    if (landed == nullptr || done) return;
    done = true;
    s.Feed(conduct::AgentLost{landed->landed().node(), "stream broken"});
    s.Feed(conduct::AgentBack{landed->landed().node(), {left(landed->landed().shot())}});
  };
  stage.Run();
}

TEST(Conductor, AnAgentThatComesBackWithAnOpenRecordIsAnUnconfirmedUndo) {
  Stage stage(PauseDrill(1, 0));
  RunWithAgentBack(stage, [](const std::string& shot) {
    v1::OpenFault open;
    open.set_shot(shot);
    open.set_problem("EIO");
    return open;
  });
  EXPECT_EQ(stage.outcome(), "broken");
}

// Found by the simulation: silence about the shot was taken for its confirmation.
TEST(Conductor, AnAgentThatComesBackWithARecordThatCannotBeReadIsAnUnconfirmedUndo) {
  Stage stage(PauseDrill(1, 0));
  RunWithAgentBack(stage, [](const std::string& shot) {
    v1::OpenFault open;
    open.set_resource(shot + ".undo");
    open.set_problem("its checksum is wrong");
    return open;
  });
  EXPECT_EQ(stage.outcome(), "broken");
  EXPECT_FALSE(stage.First(What::kReverted)->reverted().confirmed());
  EXPECT_THAT(stage.First(What::kReverted)->reverted().problem(), HasSubstr("its checksum is wrong"));
}

TEST(Conductor, AnAgentThatOnlyLostItsStreamIsToldToRevert) {
  Stage stage(PauseDrill(1, 0));
  RunWithAgentBack(stage, [](const std::string& shot) {
    v1::OpenFault open;
    open.set_shot(shot);
    return open;
  });
  EXPECT_EQ(stage.outcome(), "finished");
  EXPECT_TRUE(stage.held().empty());
  EXPECT_THAT(stage.log(), ElementsAre("prepare", "arm", "revert"));
}

}  // namespace
}  // namespace triodrill
