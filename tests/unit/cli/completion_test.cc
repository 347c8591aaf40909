#include "coordinator/cli/completion.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "triodrill/text.h"

namespace triodrill::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What a shell prints when it runs `script`, its words split at white space.
std::vector<std::string> Shell(const char* shell, const std::string& script) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = shell;
  std::string flag = "-c";
  std::string text = script;
  std::array<char*, 4> argv{name.data(), flag.data(), text.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, shell, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0; error == 0 && (size = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    output.append(buffer.data(), static_cast<size_t>(size));
  }
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(error, 0);
  if (error == 0) waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << output;
  std::vector<std::string> words(1);
  for (const char c : output) {
    if (c != ' ' && c != '\n') words.back() += c;
    if ((c == ' ' || c == '\n') && !words.back().empty()) words.emplace_back();
  }
  words.pop_back();
  return words;
}

class CompletionInBash : public testing::Test {
 protected:
  void SetUp() override {
    if (access("/bin/bash", X_OK) != 0) GTEST_SKIP() << "there is no bash";
  }
  // Of the last of `words`.
  static std::vector<std::string> Complete(const std::string& words) {
    return Shell("/bin/bash", Cat(*Completion("bash", Verbs()), "\nCOMP_WORDS=(", words,
                                  ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_triodrill\necho \"${COMPREPLY[@]}\"\n"));
  }
};

TEST_F(CompletionInBash, KnowsTheVerbs) { EXPECT_THAT(Complete("triodrill re"), ElementsAre("recover", "report")); }

TEST_F(CompletionInBash, KnowsTheOptionsOfAVerb) {
  EXPECT_THAT(Complete("triodrill run --p"), ElementsAre("--partition", "--pipeline"));
}

TEST_F(CompletionInBash, KnowsTheChoicesOfAnOption) {
  EXPECT_THAT(Complete("triodrill report --format ''"), ElementsAre("text", "md", "html", "json", "junit", "sarif"));
}

TEST_F(CompletionInBash, KnowsTheChoicesOfAnArgument) {
  EXPECT_THAT(Complete("triodrill completion z"), ElementsAre("zsh"));
}

TEST_F(CompletionInBash, FindsFiles) {
  EXPECT_THAT(Complete(Cat("triodrill run ", TRIODRILL_SOURCE_DIR, "/drills/CMakeL")), ElementsAre());
  EXPECT_THAT(Complete(Cat("triodrill run ", TRIODRILL_SOURCE_DIR, "/drills/pipelines/torchr")),
              ElementsAre(Cat(TRIODRILL_SOURCE_DIR, "/drills/pipelines/torchrun.yaml")));
  EXPECT_THAT(Complete(Cat("triodrill judge ", TRIODRILL_SOURCE_DIR, "/drills/sha")),
              ElementsAre(Cat(TRIODRILL_SOURCE_DIR, "/drills/shadow")));
}

TEST(Completion, IsGoodZsh) {
  const char* zsh = access("/bin/zsh", X_OK) == 0 ? "/bin/zsh" : "/usr/bin/zsh";
  if (access(zsh, X_OK) != 0) GTEST_SKIP() << "there is no zsh";
  EXPECT_THAT(Shell(zsh, Cat("compdef() { print $1 }\n", *Completion("zsh", Verbs()))), ElementsAre("_triodrill"));
}

TEST(Completion, TellsEveryVerbToEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = *Completion(shell, Verbs());
    for (const VerbWords& verb : Verbs()) EXPECT_THAT(script, HasSubstr(std::string(verb.name))) << shell;
  }
}

TEST(Completion, TellsZshAndFishWhatAVerbIs) {
  EXPECT_THAT(*Completion("zsh", Verbs()), HasSubstr("'validate:check files without running anything'"));
  EXPECT_THAT(*Completion("fish", Verbs()), HasSubstr("-a validate -d 'check files without running anything'"));
}

TEST(Completion, HasNoWordThatWouldEndAQuote) {
  for (const VerbWords& verb : Verbs()) {
    EXPECT_EQ(verb.doc.find('\''), std::string_view::npos) << verb.name;
    for (const OptionWords& option : verb.options) {
      EXPECT_EQ(option.doc.find_first_of("'[]"), std::string_view::npos) << option.name;
      EXPECT_TRUE(option.name.starts_with("--")) << option.name;
    }
  }
}

TEST(Completion, RefusesAShellItDoesNotKnow) {
  EXPECT_THAT(std::string(Completion("tcsh", Verbs()).status().message()), HasSubstr("bash, zsh and fish"));
}

}  // namespace
}  // namespace triodrill::cli
