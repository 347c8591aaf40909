#include "tests/hygiene/rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>

namespace triodrill::hygiene {
namespace {

using Folders = std::set<std::string, std::less<>>;

// What the code of a folder may build on, beside itself. A folder that is not listed holds no code.
const std::map<std::string, Folders, std::less<>>& MayUse() {
  static const std::map<std::string, Folders, std::less<>> kMayUse = {
      {"include", {}},          {"injectors", {"include"}},
      {"reports", {"include"}}, {"coordinator", {"include", "reports"}},
      {"drills", {"include"}},  {"tests", {"include", "injectors", "reports", "coordinator", "drills"}},
  };
  return kMayUse;
}

bool MayBuildOn(std::string_view user, std::string_view used) {
  if (user == used) return true;
  const auto found = MayUse().find(user);
  return found != MayUse().end() && found->second.contains(used);
}

std::string At(const SourceFile& file, size_t line, std::string_view what) {
  return file.path + ":" + std::to_string(line) + ": " + std::string(what);
}

// Calls `found(line number, groups)` for each match in each line of `text`; group 0 is the whole match.
template <typename Found>
void ForEachMatch(std::string_view text, const RE2& pattern, Found found) {
  size_t number = 0;
  std::vector<re2::StringPiece> pieces(static_cast<size_t>(pattern.NumberOfCapturingGroups()) + 1);
  for (const std::string& line : Lines(text)) {
    ++number;
    size_t from = 0;
    while (pattern.Match(line, from, line.size(), RE2::UNANCHORED, pieces.data(), static_cast<int>(pieces.size()))) {
      std::vector<std::string> groups;
      for (const re2::StringPiece& piece : pieces)
        groups.emplace_back(piece.data() == nullptr ? "" : piece.as_string());
      found(number, groups);
      from = static_cast<size_t>(pieces[0].end() - line.data()) + (pieces[0].empty() ? 1 : 0);
      if (from > line.size()) break;
    }
  }
}

using Groups = std::vector<std::string>;

Findings Search(const SourceFile& file, std::string_view text, const RE2& pattern, std::string_view what) {
  Findings findings;
  ForEachMatch(text, pattern, [&](size_t line, const Groups& groups) {
    findings.push_back(At(file, line, std::string(what) + ": " + groups[0]));
  });
  return findings;
}

void Add(Findings& all, Findings more) { std::move(more.begin(), more.end(), std::back_inserter(all)); }

std::string WithoutHashComments(std::string_view text) {
  std::string without(text);
  RE2::GlobalReplace(&without, "#[^\n]*", "");
  return without;
}

// The folder in which each of our targets is made, by the target's name.
std::map<std::string, std::string> FoldersOfTargets(const Files& files) {
  static const RE2 kMade(R"((triodrill_library|add_library)\((\w+))");
  std::map<std::string, std::string> folders;
  for (const SourceFile& file : files) {
    if (!file.IsCMake()) continue;
    ForEachMatch(WithoutHashComments(file.text), kMade, [&](size_t, const Groups& groups) {
      const std::string& name = groups[2];
      folders[groups[1] == "add_library" ? name : "triodrill_" + name] = file.Top();
    });
  }
  return folders;
}

// One for each program.
const Folders& ClockFiles() {
  static const Folders kFiles = {
      "coordinator/os/clock.cc",       "drills/shadow/system_clock.cc", "include/triodrill/workload/clock.cc",
      "injectors/collective/clock.cc", "injectors/os/clock.cc",
  };
  return kFiles;
}

}  // namespace

Findings WrongIncludes(const Files& files) {
  static const RE2 kInclude(R"re(^\s*#\s*include\s*"(\w+)/)re");
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.IsCpp()) continue;
    ForEachMatch(WithoutComments(file.text), kInclude, [&](size_t line, const Groups& groups) {
      const std::string used = groups[1] == "triodrill" ? "include" : groups[1];
      if (MayUse().contains(used) && !MayBuildOn(file.Top(), used)) {
        findings.push_back(At(file, line, std::string(file.Top()) + " must not include " + used));
      }
    });
  }
  return findings;
}

Findings WrongLinks(const Files& files) {
  static const RE2 kLinked(R"(\btriodrill(?:::|_)(\w+))");
  const std::map<std::string, std::string> folders = FoldersOfTargets(files);
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.IsCMake() || file.Top().empty()) continue;
    ForEachMatch(WithoutHashComments(file.text), kLinked, [&](size_t line, const Groups& groups) {
      const auto made = folders.find("triodrill_" + groups[1]);
      if (made == folders.end() || made->second.empty() || MayBuildOn(file.Top(), made->second)) return;
      findings.push_back(At(file, line, std::string(file.Top()) + " must not link " + groups[0]));
    });
  }
  return findings;
}

Findings ShellStrings(const Files& files) {
  static const RE2 kCall(R"((^|[^\w.>])(system|popen|wordexp)\s*\()");
  static const RE2 kShell(R"re("(?:/usr)?/bin/(?:ba|da)?sh"|"(?:ba|da)?sh",\s*"-c"|sh -c\b)re");
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.IsCpp()) continue;
    Add(findings, Search(file, CodeOnly(file.text), kCall, "runs a shell"));
    if (file.Top() != "tests") Add(findings, Search(file, WithoutComments(file.text), kShell, "names a shell"));
  }
  return findings;
}

Findings ReadsThatThrow(const Files& files) {
  static const RE2 kIterator(R"(\bistreambuf_iterator\b)");
  Findings findings;
  for (const SourceFile& file : files) {
    if (file.IsCpp()) Add(findings, Search(file, CodeOnly(file.text), kIterator, "throws where a read fails"));
  }
  return findings;
}

Findings SharedByAllThreads(const Files& files) {
  static const RE2 kShared(
      R"(\b(?:lgamma[fl]?|strtok|gmtime|localtime|asctime|ctime|strerror|inet_ntoa|drand48|[lm]rand48|tmpnam|ttyname|getlogin|getpw(?:uid|nam)|getgr(?:gid|nam)|gethostbyname) ?\()");
  Findings findings;
  for (const SourceFile& file : files) {
    if (file.IsCpp()) Add(findings, Search(file, CodeOnly(file.text), kShared, "keeps state that all threads share"));
  }
  return findings;
}

Findings BacktrackingPatterns(const Files& files) {
  static const RE2 kRegex(R"((?m)\bstd::(?:w?regex|basic_regex)\b|\bregcomp ?\(|^#include <regex(?:\.h)?>)");
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.IsCpp()) continue;
    Add(findings, Search(file, CodeOnly(file.text), kRegex, "a pattern that RE2 would match in linear time"));
  }
  return findings;
}

Findings TypesOfOneName(const Files& files) {
  static const RE2 kOpens(R"(^namespace ?([\w:]*) ?\{)");
  static const RE2 kType(R"(^(?:struct|class)(?: alignas\(\w+\))? (\w+)(?: final)?(?: :| \{))");
  Findings findings;
  std::map<std::string, std::string> first;
  for (const SourceFile& file : files) {
    if (!file.IsCpp() || file.Top() == "tests") continue;
    std::vector<std::string> spaces;
    size_t number = 0;
    for (const std::string& line : Lines(file.text)) {
      ++number;
      std::string name;
      if (RE2::PartialMatch(line, kOpens, &name)) {
        spaces.push_back(name);
      } else if (line.starts_with("}  // namespace") && !spaces.empty()) {
        spaces.pop_back();
      } else if (RE2::PartialMatch(line, kType, &name) && std::count(spaces.begin(), spaces.end(), "") == 0) {
        std::string type;
        for (const std::string& space : spaces) type += space + "::";
        const auto [other, fresh] = first.try_emplace(type + name, At(file, number, ""));
        if (!fresh) findings.push_back(At(file, number, type + name + " is another type at " + other->second));
      }
    }
  }
  return findings;
}

Findings ClocksAndChance(const Files& files) {
  static const RE2 kReads(
      R"((?:_clock::now|\bclock_gettime\b|\bgettimeofday\b|[^\w.>:]time\(|\bsleep_(?:for|until)\s*\(|\b(?:u|nano|clock_nano)?sleep\(|\brandom_device\b|\bgetrandom\b|[^\w.>:]s?rand(?:om)?\())");
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.IsCpp() || file.Top() == "tests" || ClockFiles().contains(file.path)) continue;
    Add(findings, Search(file, CodeOnly(file.text), kReads, "takes time or chance from the machine"));
  }
  return findings;
}

Findings LongFiles(const Files& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    const bool code = file.IsCpp() || file.IsCMake() || file.Is(".py") || file.path == "dev";
    const size_t most = file.path == "CMakeLists.txt" ? 149 : 400;
    const size_t lines = Lines(file.text).size();
    if (code && lines > most) findings.push_back(At(file, lines, "more than " + std::to_string(most) + " lines"));
  }
  return findings;
}

Findings UnregisteredTests(const Files& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (file.Top() != "tests" || (!file.Is("_test.cc") && !file.Is("_bench.cc"))) continue;
    const size_t slash = file.path.rfind('/');
    const std::string list = file.path.substr(0, slash) + "/CMakeLists.txt";
    const auto found =
        std::find_if(files.begin(), files.end(), [&](const SourceFile& one) { return one.path == list; });
    const RE2 name("(^|[\\s(])" + RE2::QuoteMeta(file.path.substr(slash + 1)) + "($|[\\s)])");
    if (found == files.end() || !RE2::PartialMatch(WithoutHashComments(found->text), name)) {
      findings.push_back(At(file, 1, "is in no CMakeLists.txt of its folder, so it is never run"));
    }
  }
  return findings;
}

Findings Globs(const Files& files) {
  static const RE2 kGlob(R"(file\s*\(\s*GLOB|aux_source_directory)");
  Findings findings;
  for (const SourceFile& file : files) {
    if (file.IsCMake())
      Add(findings, Search(file, WithoutHashComments(file.text), kGlob, "lists its sources by pattern"));
  }
  return findings;
}

Findings LeftForLater(const Files& files) {
  static const RE2 kWords(std::string(R"(\b(TO)") + R"(DO|FIX)" + R"(ME|XX)" + R"(X|HA)" + R"(CK)\b|^\s*#if 0)");
  Findings findings;
  for (const SourceFile& file : files) {
    const bool code = file.IsCpp() || file.IsCMake() || file.Is(".proto") || file.Is(".py") || file.Is(".yaml");
    if (code) Add(findings, Search(file, file.text, kWords, "is left for later"));
  }
  return findings;
}

Findings DrillsWithoutWords(const Files& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.path.starts_with("drills/library/") || !file.Is(".yaml")) continue;
    if (!file.text.starts_with("#")) findings.push_back(At(file, 1, "does not begin with a comment on what it is for"));
    if (file.text.find("question:") == std::string::npos) findings.push_back(At(file, 1, "asks no question"));
  }
  return findings;
}

Findings HomePaths(const Files& files) {
  static const RE2 kHome(std::string("(?:^|[^\\w.$}/-])/(?:ho") + "me|ro" + "ot|Us" + "ers|wo" + "rk)/([a-z]\\w*)");
  Findings findings;
  for (const SourceFile& file : files) {
    ForEachMatch(file.text, kHome, [&](size_t line, const Groups& groups) {
      // "me" is nobody: what a test may call a home.
      if (groups[1] != "me") findings.push_back(At(file, line, "names a path of one machine: " + groups[0]));
    });
  }
  return findings;
}

Findings ReadersOfTheTruth(const Files& files) {
  static const RE2 kTruth(R"(truth\.jsonl)");
  Findings findings;
  for (const SourceFile& file : files) {
    if (file.Top() == "drills" || file.Top() == "tests" || file.Is(".md")) continue;
    ForEachMatch(file.text, kTruth, [&](size_t line, const Groups& groups) {
      findings.push_back(At(file, line, "reaches for the truth channel: " + groups[0]));
    });
  }
  for (const SourceFile& file : files) {
    const bool profile = file.path.starts_with("drills/pipelines/") || file.path.starts_with("drills/library/");
    if (profile && file.text.find("truth.jsonl") != std::string::npos) {
      findings.push_back(At(file, 1, "feeds the truth channel to the measuring"));
    }
  }
  return findings;
}

Findings ProgramsWithoutPage(const Files& files) {
  static const RE2 kProgram(R"(\btriodrill_program\(([\w-]+))");
  static const RE2 kPage(R"([\s(]([\w-]+)\.[18]\b)");
  std::set<std::string> installed;
  std::set<std::string> there;
  for (const SourceFile& file : files) {
    if (file.Is("/man/CMakeLists.txt")) {
      ForEachMatch(WithoutHashComments(file.text), kPage,
                   [&](size_t, const Groups& page) { installed.insert(page[1]); });
    }
    const size_t folder = file.path.rfind("/man/");
    if (folder != std::string::npos) there.insert(file.path.substr(folder + 5, file.path.rfind('.') - folder - 5));
  }
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.IsCMake()) continue;
    ForEachMatch(WithoutHashComments(file.text), kProgram, [&](size_t line, const Groups& program) {
      if (installed.contains(program[1]) && there.contains(program[1])) return;
      findings.push_back(At(file, line, "has no manual page that is installed: " + program[1]));
    });
  }
  return findings;
}

Findings FoldersWithoutReadme(const Files& files) {
  std::set<std::string> folders;
  std::set<std::string> described;
  for (const SourceFile& file : files) {
    const std::string top(file.Top());
    if (!top.empty() && !top.starts_with(".")) folders.insert(top);
    if (file.path == top + "/README.md") described.insert(top);
  }
  Findings findings;
  for (const std::string& folder : folders) {
    if (!described.contains(folder)) findings.push_back(folder + ": has no README.md");
  }
  return findings;
}

Findings LoopsOverTemporaries(const Files& files) {
  static const RE2 kLoop(R"(\bfor \([^;]*[^:]: [A-Z]\w*\([^()]*\)\.[a-z_]+\(\)\))");
  Findings findings;
  for (const SourceFile& file : files) {
    if (file.IsCpp()) Add(findings, Search(file, CodeOnly(file.text), kLoop, "runs over a temporary that is gone"));
  }
  return findings;
}

Findings UnknownTests(const Files& files) {
  static const RE2 kTest(R"(\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
  static const RE2 kNamed("`([A-Z][A-Za-z0-9]+\\.[A-Z][A-Za-z0-9]+)`");
  std::set<std::string> tests;
  for (const SourceFile& file : files) {
    if (file.Top() != "tests" || !file.Is(".cc")) continue;
    re2::StringPiece rest(file.text);
    std::string suite, test;
    while (RE2::FindAndConsume(&rest, kTest, &suite, &test)) tests.insert(suite + "." + test);
  }
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.Is(".md")) continue;
    ForEachMatch(file.text, kNamed, [&](size_t line, const Groups& groups) {
      if (!tests.contains(groups[1])) findings.push_back(At(file, line, "no test is named " + groups[1]));
    });
  }
  return findings;
}

}  // namespace triodrill::hygiene
