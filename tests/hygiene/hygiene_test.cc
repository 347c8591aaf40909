// The repository keeps its own rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hygiene/rules.h"

namespace triodrill::hygiene {
namespace {

using testing::IsEmpty;

const Files& Tree() {
  static const Files kTree = ReadTree(TRIODRILL_SOURCE_DIR);
  return kTree;
}

TEST(Repository, IsReadWhole) { EXPECT_GT(Tree().size(), 50u); }
TEST(Repository, IncludesInOneDirection) { EXPECT_THAT(WrongIncludes(Tree()), IsEmpty()); }
TEST(Repository, LinksInOneDirection) { EXPECT_THAT(WrongLinks(Tree()), IsEmpty()); }
TEST(Repository, RunsNoShell) { EXPECT_THAT(ShellStrings(Tree()), IsEmpty()); }
TEST(Repository, ReadsFilesWithoutThrowing) { EXPECT_THAT(ReadsThatThrow(Tree()), IsEmpty()); }
TEST(Repository, SharesNoStateOfTheCLibrary) { EXPECT_THAT(SharedByAllThreads(Tree()), IsEmpty()); }
TEST(Repository, MatchesInLinearTime) { EXPECT_THAT(BacktrackingPatterns(Tree()), IsEmpty()); }
TEST(Repository, TakesTimeAndChanceAsArguments) { EXPECT_THAT(ClocksAndChance(Tree()), IsEmpty()); }
TEST(Repository, NamesEachTypeOnce) { EXPECT_THAT(TypesOfOneName(Tree()), IsEmpty()); }
TEST(Repository, HasNoFileOver400Lines) { EXPECT_THAT(LongFiles(Tree()), IsEmpty()); }
TEST(Repository, HasNoFunctionOver70Lines) { EXPECT_THAT(LongFunctions(Tree()), IsEmpty()); }
TEST(Repository, HasNoInterfaceOver4Functions) { EXPECT_THAT(WideInterfaces(Tree()), IsEmpty()); }
TEST(Repository, RunsEveryTestItHas) { EXPECT_THAT(UnregisteredTests(Tree()), IsEmpty()); }
TEST(Repository, NamesItsSources) { EXPECT_THAT(Globs(Tree()), IsEmpty()); }
TEST(Repository, LeavesNothingForLater) { EXPECT_THAT(LeftForLater(Tree()), IsEmpty()); }
TEST(Repository, ExplainsItsDrills) { EXPECT_THAT(DrillsWithoutWords(Tree()), IsEmpty()); }
TEST(Repository, KeepsTheTruthFromTheMeasuring) { EXPECT_THAT(ReadersOfTheTruth(Tree()), IsEmpty()); }
TEST(Repository, NamesNobodysHome) { EXPECT_THAT(HomePaths(Tree()), IsEmpty()); }
TEST(Repository, HasAPageForEachProgram) { EXPECT_THAT(ProgramsWithoutPage(Tree()), IsEmpty()); }
TEST(Repository, DescribesItsFolders) { EXPECT_THAT(FoldersWithoutReadme(Tree()), IsEmpty()); }
TEST(Repository, LoopsOverNoTemporary) { EXPECT_THAT(LoopsOverTemporaries(Tree()), IsEmpty()); }
TEST(Repository, NamesOnlyTestsThatItHas) { EXPECT_THAT(UnknownTests(Tree()), IsEmpty()); }

}  // namespace
}  // namespace triodrill::hygiene
