// Each rule finds what it is there to find.
#include "tests/hygiene/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triodrill::hygiene {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Files One(const std::string& path, const std::string& text) { return {{.path = path, .text = text}}; }

TEST(CodeOnly, BlanksCommentsAndLiteralsAndKeepsTheLines) {
  EXPECT_EQ(CodeOnly("a // b\nc"), "a     \nc");
  EXPECT_EQ(CodeOnly("a /* b\n */ c"), "a     \n    c");
  EXPECT_EQ(CodeOnly("f(\"{\\\"\");"), "f(     );");
  EXPECT_EQ(CodeOnly("'{' 1'000 x"), "    1'000 x");
  EXPECT_EQ(CodeOnly("R\"re(a\" {\n)re\";"), "         \n    ;");
}

TEST(WithoutComments, KeepsStringsThatLookLikeComments) {
  EXPECT_EQ(WithoutComments("\"http://x\" // y"), "\"http://x\"     ");
}

TEST(WrongIncludes, HoldsTheDirection) {
  EXPECT_THAT(WrongIncludes(One("injectors/a.cc", "#include \"coordinator/x.h\"\n")),
              ElementsAre("injectors/a.cc:1: injectors must not include coordinator"));
  EXPECT_THAT(WrongIncludes(One("injectors/a.h", "#include \"reports/x.h\"\n")), SizeIs(1));
  EXPECT_THAT(WrongIncludes(One("coordinator/a.cc", "\n#include \"injectors/x.h\"\n")), SizeIs(1));
  EXPECT_THAT(WrongIncludes(One("reports/a.cc", "#include \"coordinator/x.h\"\n")), SizeIs(1));
  EXPECT_THAT(WrongIncludes(One("reports/a.cc", "#include \"injectors/x.h\"\n")), SizeIs(1));
  EXPECT_THAT(WrongIncludes(One("include/triodrill/a.h", "#include \"reports/x.h\"\n")), SizeIs(1));
  EXPECT_THAT(WrongIncludes(One("coordinator/a.cc", "#include \"tests/x.h\"\n")), SizeIs(1));
}

TEST(WrongIncludes, AllowsWhatIsAllowed) {
  EXPECT_THAT(WrongIncludes(One("coordinator/a.cc", "#include \"reports/x.h\"\n#include \"triodrill/x.h\"\n")),
              IsEmpty());
  EXPECT_THAT(WrongIncludes(One("injectors/a.cc", "// #include \"coordinator/x.h\"\n#include \"absl/x.h\"\n")),
              IsEmpty());
  EXPECT_THAT(WrongIncludes(One("tests/a.cc", "#include \"coordinator/x.h\"\n#include \"injectors/x.h\"\n")),
              IsEmpty());
}

TEST(WrongLinks, HoldsTheDirection) {
  Files files = One("coordinator/fleet/CMakeLists.txt", "triodrill_library(fleet SOURCES a.cc)\n");
  files.push_back({.path = "injectors/agent/CMakeLists.txt",
                   .text = "# triodrill::fleet\ntriodrill_library(agent SOURCES a.cc\n  LIBS triodrill::fleet)\n"});
  EXPECT_THAT(WrongLinks(files),
              ElementsAre("injectors/agent/CMakeLists.txt:3: injectors must not link triodrill::fleet"));
}

TEST(ShellStrings, FindsThem) {
  EXPECT_THAT(ShellStrings(One("a.cc", "int x = system(\"ls\");")), SizeIs(1));
  EXPECT_THAT(ShellStrings(One("a.cc", "FILE* f = popen (cmd, \"r\");")), SizeIs(1));
  EXPECT_THAT(ShellStrings(One("a.cc", "Run({\"/bin/sh\", \"-c\", line});")), SizeIs(1));
  EXPECT_THAT(ShellStrings(One("a.cc", "Run({\"sh\", \"-c\", line});")), SizeIs(1));
  EXPECT_THAT(ShellStrings(One("a.cc", "Run(\"bash -c x\");")), SizeIs(1));
  EXPECT_THAT(ShellStrings(One("a.cc", "if (shell == \"bash\") return Bash();")), IsEmpty());
  EXPECT_THAT(ShellStrings(One("a.cc", "// system(\"ls\")\nfile_system(x); FileSystem s; s.system(1);")), IsEmpty());
}

TEST(ReadsThatThrow, AreFound) {
  EXPECT_THAT(ReadsThatThrow(One("tests/a.cc", "return {std::istreambuf_iterator<char>(in), {}};")), SizeIs(1));
  EXPECT_THAT(ReadsThatThrow(One("a.cc", "text << in.rdbuf();  // no istreambuf_iterator")), IsEmpty());
}

TEST(SharedByAllThreads, AreFound) {
  for (const char* line :
       {"return std::lgamma(x);", "const passwd* entry = getpwuid(id);", "tm* t = ::gmtime(&now);"}) {
    EXPECT_THAT(SharedByAllThreads(One("a.cc", line)), SizeIs(1)) << line;
  }
  for (const char* line : {"::lgamma_r(x, &sign);", "getpwuid_r(id, &entry, room, size, &found);", "// strtok(text)"}) {
    EXPECT_THAT(SharedByAllThreads(One("a.cc", line)), IsEmpty()) << line;
  }
}

TEST(BacktrackingPatterns, AreFound) {
  EXPECT_THAT(BacktrackingPatterns(One("tests/a.cc", "#include <regex>\nconst std::regex tag(text);")), SizeIs(2));
  EXPECT_THAT(BacktrackingPatterns(One("a.cc", "if (regcomp(&pattern, text, 0) != 0) return;")), SizeIs(1));
  EXPECT_THAT(BacktrackingPatterns(One("a.cc", "static const RE2 kTag(text);  // no std::regex")), IsEmpty());
}

TEST(TypesOfOneName, AreFound) {
  const auto two = [](const char* first, const char* second) {
    return TypesOfOneName({One("injectors/a.h", first).front(), One("include/b.h", second).front()});
  };
  EXPECT_THAT(two("namespace triodrill {\nstruct Place {\n};\n}  // namespace triodrill\n",
                  "namespace triodrill {\nclass Place final : public X {\n};\n}  // namespace triodrill\n"),
              SizeIs(1));
  EXPECT_THAT(
      two("namespace triodrill {\nstruct Place {\n};\n}  // namespace triodrill\n",
          "namespace triodrill {\nnamespace {\nstruct Place {\n};\n}  // namespace\n}  // namespace triodrill\n"),
      IsEmpty());
  EXPECT_THAT(two("namespace triodrill {\nstruct Place {\n};\n}  // namespace triodrill\n",
                  "namespace triodrill::agent {\nstruct Place {\n};\n}  // namespace triodrill::agent\n"),
              IsEmpty());
  EXPECT_THAT(two("namespace triodrill {\nstruct Place;\n}  // namespace triodrill\n",
                  "namespace triodrill {\nstruct Place {\n};\n}  // namespace triodrill\n"),
              IsEmpty());
}

TEST(ClocksAndChance, AreFoundOutsideTheirFile) {
  for (const char* code : {"auto t = std::chrono::steady_clock::now();", "clock_gettime(CLOCK_MONOTONIC, &t);",
                           "std::this_thread::sleep_for(1ms);", "usleep(5);", "int r = rand();",
                           "std::random_device d;", "return time(nullptr);"}) {
    EXPECT_THAT(ClocksAndChance(One("coordinator/a.cc", code)), SizeIs(1)) << code;
    EXPECT_THAT(ClocksAndChance(One("injectors/os/clock.cc", code)), IsEmpty()) << code;
  }
  EXPECT_THAT(ClocksAndChance(One("coordinator/a.cc",
                                  "clock.Now(); recovery_time(x); operand(y); Sleep(sleep_until); // sleep(1)")),
              IsEmpty());
}

TEST(LongFiles, AreFound) {
  std::string lines;
  for (int i = 0; i < 400; ++i) lines += "x\n";
  EXPECT_THAT(LongFiles(One("a/b.cc", lines)), IsEmpty());
  EXPECT_THAT(LongFiles(One("a/b.cc", lines + "x\n")), SizeIs(1));
  EXPECT_THAT(LongFiles(One("a/b.md", lines + "x\n")), IsEmpty());
  EXPECT_THAT(LongFiles(One("CMakeLists.txt", lines)), SizeIs(1));
}

std::string Body(int lines) {
  std::string body = "{\n";
  for (int i = 0; i < lines - 2; ++i) body += "  if (x) { y(); }\n";
  return body + "}\n";
}

TEST(LongFunctions, AreFound) {
  EXPECT_THAT(LongFunctions(One("a.cc", "void F() " + Body(70))), IsEmpty());
  EXPECT_THAT(LongFunctions(One("a.cc", "void F() " + Body(71))), SizeIs(1));
  EXPECT_THAT(
      LongFunctions(One("a.cc", "namespace n {\nclass C final : public B {\n public:\n  int F() const override " +
                                    Body(90) + "};\n}\n")),
      ElementsAre(HasSubstr("a function of 90 lines")));
}

TEST(LongFunctions, AreNotClassesNorNamespacesNorTables) {
  std::string functions;
  for (int i = 0; i < 50; ++i) functions += "void F() {\n  x();\n}\n";
  EXPECT_THAT(LongFunctions(One("a.cc", "namespace n {\n" + functions + "}\n")), IsEmpty());
  EXPECT_THAT(LongFunctions(One("a.cc", "struct S : public B<int> {\n" + functions + "};\n")), IsEmpty());
  EXPECT_THAT(LongFunctions(One("a.cc", "constexpr Row kRows[] = " + Body(100) + ";\n")), IsEmpty());
  EXPECT_THAT(LongFunctions(One("a.cc", "#define X(a) { \\\n  {\nvoid F() {\n}\n" + functions)), IsEmpty());
}

TEST(WideInterfaces, AreFound) {
  std::string four;
  for (int i = 0; i < 4; ++i) four += "  virtual Status F(int x = 0) = 0;\n";
  EXPECT_THAT(WideInterfaces(One("a.h", "class I {\n public:\n  virtual ~I() = default;\n" + four + "};\n")),
              IsEmpty());
  EXPECT_THAT(WideInterfaces(One("a.h", "class I {\n" + four + "  virtual\n    int G()\n    const = 0;\n};\n")),
              SizeIs(1));
}

TEST(UnregisteredTests, AreFound) {
  Files files = One("tests/unit/x/a_test.cc", "");
  EXPECT_THAT(UnregisteredTests(files), SizeIs(1));
  files.push_back(
      {.path = "tests/unit/x/CMakeLists.txt", .text = "triodrill_test(x SOURCES b_a_test.cc)\n# a_test.cc\n"});
  EXPECT_THAT(UnregisteredTests(files), SizeIs(1));
  files.back().text = "triodrill_test(x\n  SOURCES b_test.cc a_test.cc)\n";
  EXPECT_THAT(UnregisteredTests(files), IsEmpty());
}

TEST(Globs, AreFound) {
  EXPECT_THAT(Globs(One("a/CMakeLists.txt", "file(GLOB sources *.cc)\n")), SizeIs(1));
  EXPECT_THAT(Globs(One("a/CMakeLists.txt", "# no file(GLOB\nset(x GLOBAL)\n")), IsEmpty());
}

TEST(LeftForLater, IsFound) {
  EXPECT_THAT(LeftForLater(One("a.cc",
                               "// TO"
                               "DO: finish\n")),
              SizeIs(1));
  EXPECT_THAT(LeftForLater(One("a.py",
                               "# FIX"
                               "ME\n")),
              SizeIs(1));
  EXPECT_THAT(LeftForLater(One("a.cc", "#if 0\nx();\n#endif\n")), SizeIs(1));
}

TEST(DrillsWithoutWords, AreFound) {
  EXPECT_THAT(DrillsWithoutWords(One("drills/library/data/x.yaml", "apiVersion: x\n")), SizeIs(2));
  EXPECT_THAT(DrillsWithoutWords(One("drills/library/data/x.yaml", "# What.\nmetadata: {question: \"?\"}\n")),
              IsEmpty());
}

TEST(ReadersOfTheTruth, AreFound) {
  EXPECT_THAT(ReadersOfTheTruth(One("coordinator/x.cc", "Open(run_dir + \"/truth.jsonl\");\n")), SizeIs(1));
  EXPECT_THAT(ReadersOfTheTruth(One("drills/pipelines/x.yaml", "path: ${run_dir}/truth.jsonl\n")), SizeIs(1));
  EXPECT_THAT(ReadersOfTheTruth(One("tests/e2e/truth_test.cc", "Open(\"truth.jsonl\");\n")), SizeIs(0));
}

TEST(HomePaths, AreFound) {
  EXPECT_THAT(HomePaths(One("README.md",
                            "run /ho"
                            "me/alice/x\n")),
              SizeIs(1));
  EXPECT_THAT(HomePaths(One("a.cc",
                            "Open(\"/ro"
                            "ot/x\");\n")),
              SizeIs(1));
  EXPECT_THAT(HomePaths(One("a.cc", "\"${run_dir}/work/x\" a/home/b\n")), IsEmpty());
}

TEST(ProgramsWithoutPage, AreFound) {
  Files files = One("a/CMakeLists.txt", "# triodrill_program(NAME …\ntriodrill_program(triodrill-x SOURCES x.cc)\n");
  EXPECT_THAT(ProgramsWithoutPage(files), SizeIs(1));
  files.push_back({.path = "a/man/triodrill-x.8", .text = ""});
  EXPECT_THAT(ProgramsWithoutPage(files), SizeIs(1)) << "not installed";
  files.push_back(
      {.path = "a/man/CMakeLists.txt", .text = "install(FILES triodrill-y.1 triodrill-x.8 DESTINATION d)\n"});
  EXPECT_THAT(ProgramsWithoutPage(files), IsEmpty());
}

TEST(FoldersWithoutReadme, AreFound) {
  Files files = One("drills/x.yaml", "");
  EXPECT_THAT(FoldersWithoutReadme(files), ElementsAre("drills: has no README.md"));
  files.push_back({.path = "drills/README.md", .text = ""});
  EXPECT_THAT(FoldersWithoutReadme(files), IsEmpty());
}

TEST(LoopsOverTemporaries, AreFound) {
  EXPECT_THAT(LoopsOverTemporaries(One("a/x.cc", "for (const Signal& one : Profile(\"a\").signals()) Use(one);\n")),
              ElementsAre(HasSubstr("a/x.cc:1: runs over a temporary that is gone")));
  for (const char* fine :
       {"for (const auto& one : profile.signals()) Use(one);\n", "for (const auto& one : Told().facts) Use(one);\n",
        "for (const auto& one : Find(plan)->shots()) Use(one);\n"}) {
    EXPECT_THAT(LoopsOverTemporaries(One("a/x.cc", fine)), IsEmpty()) << fine;
  }
}

TEST(UnknownTests, AreFound) {
  Files files = One("a/README.md", "shown by `Guard.Holds` and `Guard.Waits`, not by `Guard` or `guard.h`\n");
  EXPECT_THAT(UnknownTests(files), ElementsAre("a/README.md:1: no test is named Guard.Holds",
                                               "a/README.md:1: no test is named Guard.Waits"));
  files.push_back({.path = "tests/guard_test.cc", .text = "TEST(Guard, Holds) {}\nTEST_F(Guard,\n       Waits) {}\n"});
  EXPECT_THAT(UnknownTests(files), IsEmpty());
}

}  // namespace
}  // namespace triodrill::hygiene
