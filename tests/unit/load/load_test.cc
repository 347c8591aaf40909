#include "coordinator/load/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "coordinator/load/read.h"
#include "gmock/gmock.h"
#include "re2/re2.h"
#include "triodrill/schema/json.h"
#include "triodrill/text.h"
#include "triodrill/time.h"

namespace triodrill {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

// A drill from its spec's lines, each indented by two.
std::string Drill(std::string_view spec) {
  return Cat("apiVersion: triodrill/v1\nkind: Drill\nmetadata: {name: d}\nspec:\n", spec);
}

constexpr char kKill[] =
    "  faults:\n"
    "    - {id: kill, inject: process.kill, target: {role: rank, pick: 1}}\n"
    "  expect: {detection_latency: {max: 10s}}\n";

std::vector<std::string> Problems(std::string_view text) {
  std::vector<Diagnostic> problems;
  Validate(text, "d.yaml", problems);
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems) lines.push_back(problem.Text());
  return lines;
}

std::string Shipped(std::string_view file, std::vector<Diagnostic>& problems) {
  return ReadYamlFile(Cat(TRIODRILL_SOURCE_DIR, "/drills/", file), problems).value_or("");
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "triodrill-load-XXXXXX").string();
    path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  std::string File(std::string_view name) const { return Cat(path_, "/", name); }

 private:
  std::string path_;
};

TEST(Load, FillsTheDefaultsIn) {
  std::vector<Diagnostic> problems;
  const auto loaded = LoadDrill(Drill(kKill), "d.yaml", problems);
  ASSERT_THAT(problems, IsEmpty()) << Text(problems);
  const v1::DrillSpec& spec = loaded.message.spec();
  EXPECT_EQ(spec.faults(0).with().process_kill().signal(), "SIGKILL");
  EXPECT_EQ(spec.faults(0).start().after(), "baseline");
  EXPECT_EQ(spec.faults(0).target().limit(), 1);
  EXPECT_EQ(spec.trials().faulted(), 1);
  EXPECT_EQ(ToNanos(spec.deadline().detection()), 60s);
  EXPECT_EQ(loaded.text, Drill(kKill)) << "the text is kept as it was read";
  EXPECT_EQ(loaded.file, "d.yaml");
}

TEST(Load, TellsASlipOnce) {
  EXPECT_THAT(Problems(Drill("  faults: [{id: a, inject: process.pause, target: {role: rank}, hold: {for: 1}}]\n"
                             "  expect: {}\n")),
              ElementsAre(HasSubstr("a duration without a unit")))
      << "the rules between fields wait until every field can be read";
}

TEST(Load, TellsEverythingThatIsWrongInTheOrderOfTheText) {
  EXPECT_THAT(
      Problems(Drill("  faults:\n"
                     "    - {id: a, inject: process.pause, target: {role: rank, pick: 1}}\n"
                     "    - {id: a, inject: process.kill, target: {role: rank, pick: 2}}\n"
                     "  expect: {}\n"
                     "  trials: {faulted: 0}\n")),
      ElementsAre(HasSubstr("d.yaml:6:7: error: no `hold`"), HasSubstr("d.yaml:7:12: error: two faults"),
                  HasSubstr("d.yaml:7:64: error: `pick` is 2"), HasSubstr("d.yaml:8:11: error: the drill expects"),
                  HasSubstr("d.yaml:9:11: error: the drill has no trial")));
}

TEST(Load, AFaultThatCannotBeTakenBackNeedsNoHold) { EXPECT_THAT(Problems(Drill(kKill)), IsEmpty()); }

TEST(Load, AFaultMayFollowAnother) {
  EXPECT_THAT(
      Problems(Drill(
          "  faults:\n"
          "    - {id: first, inject: process.pause, target: {role: rank, pick: 1}, hold: {for: 9s}}\n"
          "    - {id: then, inject: process.kill, target: {role: rank, pick: 1}, start: {when: isolated, of: first}}\n"
          "  expect: {steps_lost: {}}\n")),
      IsEmpty());
}

TEST(Load, ACircleOfThreeIsFoundAndATailIntoItEnds) {
  EXPECT_THAT(Problems(Drill("  faults:\n"
                             "    - {id: a, inject: process.kill, target: {role: rank}, start: {when: landed, of: b}}\n"
                             "    - {id: b, inject: process.kill, target: {role: rank}, start: {when: landed, of: c}}\n"
                             "    - {id: c, inject: process.kill, target: {role: rank}, start: {when: landed, of: b}}\n"
                             "  expect: {steps_lost: {}}\n")),
              ElementsAre(HasSubstr("d.yaml:7"), HasSubstr("d.yaml:8")));
}

TEST(Load, ADrillOfShamsNeedsNoFault) {
  EXPECT_THAT(Problems(Drill("  expect: {false_alarms: {max: 0}}\n  trials: {faulted: 0, sham: 3}\n")), IsEmpty());
  EXPECT_THAT(Problems(Drill("  expect: {recovery_time: {max: 1s}}\n  trials: {faulted: 0, sham: 3}\n")),
              ElementsAre(HasSubstr("an objective that only a trial with a fault can meet")));
}

TEST(Load, ADocumentOfAnotherKindIsRefused) {
  std::vector<Diagnostic> problems;
  LoadPartition(Drill(kKill), "d.yaml", problems);
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(problems[0].Text(), HasSubstr("d.yaml:2:7: error: `kind` is `Drill`, not `Partition`"));
}

TEST(Library, SaysWhatTheDrillsAreFor) {
  std::vector<Diagnostic> problems;
  const std::string folder = Cat(TRIODRILL_SOURCE_DIR, "/drills/library");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string text = ReadYamlFile(entry.path().string(), problems).value_or("");
    const auto drill = LoadDrill(text, entry.path().filename().string(), problems);
    EXPECT_TRUE(text.starts_with("# Why: ")) << entry.path();
    EXPECT_NE(drill.message.metadata().question(), "") << entry.path();
    EXPECT_EQ(drill.message.metadata().name(), entry.path().stem().string()) << "a drill is named after its file";
  }
  EXPECT_THAT(problems, IsEmpty()) << Text(problems);
}

// Where it is public, and how well that is known: read in the primary source (A), in the primary thread (B), or
// measured.
TEST(Library, AnIncidentSaysWhereItIsFromAndIsInTheTable) {
  static const RE2 kLevel(R"(, [AB]\)|\(measured, )");
  const std::filesystem::path folder = Cat(TRIODRILL_SOURCE_DIR, "/drills/library/incidents");
  std::ostringstream read;
  read << std::ifstream(folder / "README.md").rdbuf();
  const std::string table = read.str();
  int drills = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    ++drills;
    std::vector<Diagnostic> problems;
    const std::string text = ReadYamlFile(entry.path().string(), problems).value_or("");
    EXPECT_TRUE(RE2::PartialMatch(text, R"(\n# Source: incident \d+)")) << entry.path();
    EXPECT_TRUE(RE2::PartialMatch(text, kLevel)) << entry.path();
    EXPECT_THAT(table, HasSubstr(Cat("`", entry.path().stem().string(), "`")));
  }
  EXPECT_GE(drills, 12);
}

TEST(Library, TheStragglerFallsBackToADutyCycle) {
  std::vector<Diagnostic> problems;
  const auto drill = LoadDrill(Shipped("library/hardware/straggler.yaml", problems), "straggler.yaml", problems);
  ASSERT_THAT(problems, IsEmpty());
  EXPECT_EQ(drill.message.spec().faults(0).with().cpu_throttle().quota(), 20);
  EXPECT_EQ(ToNanos(drill.message.spec().faults(0).otherwise().with().cpu_stutter().run()), 100ms);
}

TEST(Library, APlanOfItReadsBackFromJson) {
  std::vector<Diagnostic> problems;
  const auto pipeline = LoadPipeline(Shipped("pipelines/torchrun.yaml", problems), "torchrun.yaml", problems);
  ASSERT_THAT(problems, IsEmpty());
  v1::Pipeline back;
  ASSERT_TRUE(FromJson(ToPrettyJson(pipeline.message), back).ok());
  EXPECT_EQ(ToJson(back), ToJson(pipeline.message));
}

TEST(ReadYaml, ReadsARegularFile) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("a.yaml")) << "a: b\n";
  std::vector<Diagnostic> problems;
  EXPECT_EQ(ReadYamlFile(folder.File("a.yaml"), problems), "a: b\n");
  EXPECT_THAT(problems, IsEmpty());
}

TEST(ReadYaml, SaysWhatItCannotRead) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("large.yaml")) << std::string(kMaxTextBytes + 1, '#');
  ASSERT_EQ(::mkfifo(folder.File("pipe.yaml").c_str(), 0600), 0);
  const auto problem = [](const std::string& path) {
    std::vector<Diagnostic> problems;
    EXPECT_EQ(ReadYamlFile(path, problems), std::nullopt);
    return Text(problems);
  };
  EXPECT_EQ(problem("/nowhere/x.yaml"),
            "/nowhere/x.yaml: error: cannot open: No such file or directory; hint: check the path\n");
  EXPECT_THAT(problem(folder.File("")), HasSubstr("not a regular file"));
  EXPECT_THAT(problem(folder.File("pipe.yaml")), HasSubstr("not a regular file"))
      << "and it must not wait for a writer";
  EXPECT_THAT(problem(folder.File("large.yaml")), HasSubstr("larger than 1 MiB"));
}

}  // namespace
}  // namespace triodrill
