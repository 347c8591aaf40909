// The repository as text. Read once, then const.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace triodrill::hygiene {

struct SourceFile {
  std::string path;  // from the repository's root
  std::string text;

  std::string_view Top() const;  // its first folder; "" for a file of the root
  bool Is(std::string_view suffix) const { return std::string_view(path).ends_with(suffix); }
  bool IsCpp() const { return Is(".h") || Is(".cc"); }
  bool IsCMake() const { return Is("CMakeLists.txt") || Is(".cmake") || Is(".cmake.in"); }
};

// Every file that is ours: not what was built or written by a run, not hidden but for .ci.
std::vector<SourceFile> ReadTree(const std::string& root);

// C++ with comments, strings and character literals blanked out: same lines, same columns.
std::string CodeOnly(std::string_view cpp);

// As CodeOnly, with the strings left in.
std::string WithoutComments(std::string_view cpp);

std::vector<std::string> Lines(std::string_view text);

}  // namespace triodrill::hygiene
