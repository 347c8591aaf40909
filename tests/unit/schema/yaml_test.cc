#include "triodrill/schema/yaml.h"

#include <random>

#include "gmock/gmock.h"
#include "triodrill/schema/defaults.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kDrill[] = R"(apiVersion: triodrill/v1
kind: Drill
metadata: {name: kill-one-rank, category: software, severity: P1}
spec:
  faults:
    - id: kill
      inject: process.kill
      target: {role: rank, pick: 1}
      with: {signal: SIGTERM}
      hold: {for: 1.5s}
  expect:
    detection_latency: {max: 10s}
)";

struct Read {
  v1::Drill drill;
  Places places;
  std::vector<Diagnostic> problems;
};

Read ReadDrill(std::string_view text) {
  Read read;
  ParseYaml(text, "d.yaml", read.drill, read.places, read.problems);
  return read;
}

std::vector<std::string> Problems(std::string_view text) {
  std::vector<std::string> lines;
  for (const Diagnostic& problem : ReadDrill(text).problems) lines.push_back(problem.Text());
  return lines;
}

std::string With(std::string_view old_text, std::string_view new_text) {
  std::string text = kDrill;
  const size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  return text.replace(at, old_text.size(), new_text);
}

TEST(Yaml, FillsTheMessage) {
  const Read read = ReadDrill(kDrill);
  ASSERT_THAT(read.problems, IsEmpty()) << Text(read.problems);
  EXPECT_EQ(read.drill.metadata().name(), "kill-one-rank");
  EXPECT_EQ(read.drill.metadata().severity(), v1::P1);
  const v1::Fault& fault = read.drill.spec().faults(0);
  EXPECT_EQ(fault.target().role(), v1::RANK);
  EXPECT_EQ(fault.target().pick(), 1);
  EXPECT_EQ(fault.with().process_kill().signal(), "SIGTERM");
  EXPECT_EQ(fault.hold().for_().nanos(), 500'000'000);
}

TEST(Yaml, RemembersWhereEachFieldStands) {
  const Read read = ReadDrill(kDrill);
  EXPECT_EQ(read.places.Find("spec.faults[0].hold.for"), (Place{10, 19}));
  EXPECT_EQ(read.places.Find("spec.faults[0].with.signal"), (Place{9, 22}));
  EXPECT_EQ(read.places.Find("spec.faults[0].start.at"), (Place{6, 7})) << "an absent field has its parent's place";
  EXPECT_EQ(read.places.Find("nothing"), (Place{1, 1}));
}

TEST(Yaml, ParametersMayStandBeforeTheirFault) {
  const Read read = ReadDrill(With("inject: process.kill\n", "with: {quota: 20%}\n      inject: cpu.throttle\n"));
  EXPECT_EQ(read.drill.spec().faults(0).with().cpu_throttle().quota(), 20);
}

TEST(Yaml, AbsentParametersAreTheEmptyParametersOfTheFault) {
  const Read read = ReadDrill(With("      with: {signal: SIGTERM}\n", ""));
  ASSERT_THAT(read.problems, IsEmpty());
  EXPECT_TRUE(read.drill.spec().faults(0).with().has_process_kill());
}

TEST(Yaml, RequiredParametersAreAskedForWhereTheFaultIsNamed) {
  EXPECT_THAT(Problems(With("process.kill\n", "cpu.throttle\n")),
              ElementsAre(HasSubstr("d.yaml:9:13: error: `quota` is missing in CpuThrottle; hint: add `quota: 20%`"),
                          HasSubstr("d.yaml:9:14: error: unknown key `signal` in CpuThrottle")));
  std::string text = With("process.kill\n", "cpu.throttle\n");
  text.erase(text.find("      with:"), text.find("      hold:") - text.find("      with:"));
  EXPECT_THAT(Problems(text), ElementsAre(HasSubstr("d.yaml:7:15: error: `quota` is missing in CpuThrottle")));
}

TEST(Yaml, OtherwiseHasParametersOfItsOwn) {
  const Read read =
      ReadDrill(With("      hold:", "      otherwise: {inject: cpu.stutter, with: {run: 1s, stop: 2s}}\n      hold:"));
  ASSERT_THAT(read.problems, IsEmpty()) << Text(read.problems);
  EXPECT_EQ(read.drill.spec().faults(0).otherwise().with().cpu_stutter().stop().seconds(), 2);
}

TEST(Yaml, ProblemsComeInTheOrderOfTheText) {
  const auto problems = Problems(With("{max: 10s}", "{mx: 10}") + "  trails: {}\n");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("d.yaml:12:24: error: `max` is missing"), HasSubstr("d.yaml:12:25"),
                                    HasSubstr("d.yaml:13:3: error: unknown key `trails` in DrillSpec; hint: did you "
                                              "mean `trials`?")));
}

TEST(Yaml, EverySpellingOfAnEnumIsRead) {
  for (const char* role : {"rank", "RANK", "\"rank\""}) {
    EXPECT_THAT(Problems(With("role: rank", std::string("role: ") + role)), IsEmpty()) << role;
  }
  EXPECT_THAT(Problems(With("role: rank", "role: role_unspecified")), ElementsAre(HasSubstr("no Role")));
}

TEST(Yaml, HostileTextsEndInADiagnosticAndSoon) {
  std::string deep_block;
  for (int i = 0; i < 400; ++i) deep_block += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  std::string wide = "apiVersion: triodrill/v1\nkind: Drill\n";
  for (int i = 0; i < 60'000; ++i) wide += "k" + std::to_string(i) + ": 1\n";
  std::string dashes;
  for (int i = 0; i < 500'000; ++i) dashes += "- ";
  std::string questions;
  for (int i = 0; i < 500'000; ++i) questions += "? ";
  std::string braces;
  for (int i = 0; i < 500'000; ++i) braces += "{ ";
  std::string closers(1'000'000, ']');
  std::string quotes(1'000'000, '"');
  std::string colons;
  for (int i = 0; i < 250'000; ++i) colons += "a: ";
  std::string list = "a: [";
  for (int i = 0; i < 400'000; ++i) list += "1,";
  for (const std::string& text : {std::string(1'000'000, '['),
                                  std::string(250, '[') + std::string(250, ']'),
                                  deep_block,
                                  wide,
                                  dashes,
                                  questions,
                                  braces,
                                  closers,
                                  quotes,
                                  colons,
                                  list,
                                  std::string(2'000'000, 'a'),
                                  std::string("\xff\xfe"
                                              "a"),
                                  std::string("a\0b", 3),
                                  std::string("&a [*a]"),
                                  std::string("%TAG ! x\n--- !a b"),
                                  std::string("{a: b"),
                                  std::string("\"\\ud800\""),
                                  std::string("!!binary x"),
                                  std::string("- - - - -"),
                                  std::string("|"),
                                  std::string("\t"),
                                  std::string("...\n...\n"),
                                  std::string("---\n---\n"),
                                  std::string("? [a]\n: b"),
                                  std::string("{[a]: b}"),
                                  std::string(": a"),
                                  std::string("<<: {a: b}")}) {
    const size_t problems = ReadDrill(text).problems.size();
    EXPECT_GE(problems, 1u) << text.substr(0, 80);
    EXPECT_LE(problems, 100u) << text.substr(0, 80);
  }
}

TEST(Yaml, ADamagedDrillNeverCrashes) {
  std::mt19937 random(3);
  const std::string text = kDrill;
  for (size_t i = 0; i < text.size(); ++i) ReadDrill(text.substr(0, i));
  for (int i = 0; i < 3'000; ++i) {
    std::string damaged = text;
    for (int n = 0; n < 3; ++n) damaged[random() % damaged.size()] = static_cast<char>(random() % 128);
    ReadDrill(damaged);
  }
}

TEST(Yaml, TheKindCanBeAskedForAlone) {
  EXPECT_EQ(*PeekKind(kDrill, "d.yaml"), "Drill");
  EXPECT_EQ(
      PeekKind("a: b", "d.yaml").status().message(),
      "d.yaml:1:1: error: `kind` is missing; hint: add `kind: Drill`; known: Drill, Partition, Pipeline, AgentPolicy, "
      "ShadowPolicy");
  EXPECT_THAT(PeekKind("kind: Dril", "d.yaml").status().message(), HasSubstr("d.yaml:1:7: error: unknown kind `Dril`"));
  EXPECT_FALSE(PeekKind("[", "d.yaml").ok());
}

TEST(Defaults, FillWhatWasNotWritten) {
  Read read = ReadDrill(kDrill);
  FillDefaults(read.drill, read.places);
  EXPECT_EQ(read.drill.spec().trials().faulted(), 1);
  EXPECT_EQ(read.drill.spec().trials().seed(), 1u);
  EXPECT_EQ(read.drill.spec().deadline().recovery().seconds(), 300);
  EXPECT_EQ(read.drill.spec().faults(0).target().limit(), 1);
  EXPECT_EQ(read.drill.spec().faults(0).start().after(), "baseline");
  EXPECT_FALSE(read.drill.spec().faults(0).has_otherwise());
  EXPECT_FALSE(read.drill.spec().expect().has_recovery_time());
}

TEST(Defaults, LeaveAWrittenZeroAlone) {
  Read read = ReadDrill(std::string(kDrill) + "  trials: {faulted: 0, sham: 3}\n");
  FillDefaults(read.drill, read.places);
  EXPECT_EQ(read.drill.spec().trials().faulted(), 0);
  EXPECT_EQ(read.drill.spec().trials().cooldown().seconds(), 5);
}

TEST(Defaults, ReachTheParametersOfTheFault) {
  Read read = ReadDrill(With("      with: {signal: SIGTERM}\n", ""));
  FillDefaults(read.drill, read.places);
  EXPECT_EQ(read.drill.spec().faults(0).with().process_kill().signal(), "SIGKILL");
}

}  // namespace
}  // namespace triodrill
