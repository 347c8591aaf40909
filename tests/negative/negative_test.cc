// Every file beside this one must be refused, with exactly the diagnostics that its first lines state:
//   # expect LINE:COLUMN the message, from its beginning
// And every file that is shipped must be accepted.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "coordinator/load/load.h"
#include "coordinator/load/read.h"
#include "gtest/gtest.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(Cat(TRIODRILL_SOURCE_DIR, "/", folder))) {
    if (entry.path().extension() == ".yaml") files.push_back(fs::relative(entry.path(), TRIODRILL_SOURCE_DIR).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What `triodrill validate` finds; the file is named by its base name.
std::vector<Diagnostic> Refusals(const std::string& file, std::string& text) {
  std::vector<Diagnostic> problems;
  const auto read = ReadYamlFile(Cat(TRIODRILL_SOURCE_DIR, "/", file), problems);
  if (!read) return problems;
  text = *read;
  Validate(text, fs::path(file).filename().string(), problems);
  return problems;
}

std::vector<std::string> Expectations(const std::string& text) {
  constexpr std::string_view kMark = "# expect ";
  std::vector<std::string> expectations;
  std::string_view rest = text;
  while (rest.starts_with(kMark)) {
    expectations.emplace_back(rest.substr(kMark.size(), rest.find('\n') - kMark.size()));
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  }
  return expectations;
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(info.param.find('/') + 1);
  name = name.substr(0, name.rfind('.'));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

class Negative : public testing::TestWithParam<std::string> {};

TEST_P(Negative, IsRefusedWithItsMessage) {
  std::string text;
  const std::vector<Diagnostic> problems = Refusals(GetParam(), text);
  const std::vector<std::string> expectations = Expectations(text);
  ASSERT_FALSE(expectations.empty()) << "the file does not begin with `# expect LINE:COLUMN message`";
  ASSERT_EQ(problems.size(), expectations.size()) << Text(problems);
  for (size_t i = 0; i < problems.size(); ++i) {
    // "1:2 message" -> "file:1:2: error: message"
    const std::string& expectation = expectations[i];
    const size_t blank = expectation.find(' ');
    const std::string wanted = Cat(fs::path(GetParam()).filename().string(), ":", expectation.substr(0, blank),
                                   ": error: ", expectation.substr(blank + 1));
    EXPECT_EQ(problems[i].Text().substr(0, wanted.size()), wanted) << problems[i].Text();
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Negative, testing::ValuesIn(FilesBelow("tests/negative")), TestName);

TEST(NegativeFiles, AreManyEnoughToMeanSomething) { EXPECT_GE(FilesBelow("tests/negative").size(), 40u); }

class Shipped : public testing::TestWithParam<std::string> {};

TEST_P(Shipped, IsAccepted) {
  std::string text;
  const std::vector<Diagnostic> problems = Refusals(GetParam(), text);
  EXPECT_EQ(Text(problems), "");
}

INSTANTIATE_TEST_SUITE_P(Files, Shipped, testing::ValuesIn(FilesBelow("drills")), TestName);

}  // namespace
}  // namespace triodrill
