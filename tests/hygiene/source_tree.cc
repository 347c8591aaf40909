#include "tests/hygiene/source_tree.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace triodrill::hygiene {
namespace {

bool IsOurs(const std::filesystem::path& relative) {
  const std::string first = relative.begin()->string();
  if (first == "build" || first == "triodrill-out" || first == ".git" || first == ".cache") return false;
  return relative.filename() != "__pycache__";
}

// Blanks out a C++ text from left to right.
class Blanker {
 public:
  Blanker(std::string_view text, bool strings) : text_(text), strings_(strings) {}

  std::string Run() {
    while (at_ < text_.size()) Step();
    return out_;
  }

 private:
  void Step() {
    if (Starts("//")) return Blank(text_.find('\n', at_));
    if (Starts("/*")) return Blank(After("*/", at_ + 2));
    if (Starts("R\"") && !IsNameBefore()) return Literal(RawEnd());
    if (text_[at_] == '"') return Literal(QuotedEnd('"'));
    // A ' between digits or letters separates digits.
    if (text_[at_] == '\'' && !IsNameBefore()) return Literal(QuotedEnd('\''));
    out_ += text_[at_++];
  }
  bool Starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool IsNameBefore() const { return at_ > 0 && (std::isalnum(static_cast<unsigned char>(text_[at_ - 1])) != 0); }
  size_t After(std::string_view what, size_t from) const {
    const size_t found = text_.find(what, from);
    return found == std::string_view::npos ? text_.size() : found + what.size();
  }
  size_t RawEnd() const {
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return text_.size();
    return After(")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"", open);
  }
  size_t QuotedEnd(char quote) const {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text_.size());
  }
  void Literal(size_t end) {
    if (strings_) {
      out_ += text_.substr(at_, end - at_);
      at_ = end;
      return;
    }
    Blank(end);
  }
  void Blank(size_t end) {
    end = std::min(end, text_.size());
    for (; at_ < end; ++at_) out_ += text_[at_] == '\n' ? '\n' : ' ';
  }

  const std::string_view text_;
  const bool strings_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string_view SourceFile::Top() const {
  const size_t slash = path.find('/');
  return slash == std::string::npos ? std::string_view() : std::string_view(path).substr(0, slash);
}

std::vector<SourceFile> ReadTree(const std::string& root) {
  std::vector<SourceFile> files;
  auto entry = std::filesystem::recursive_directory_iterator(root);
  for (; entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    const std::filesystem::path relative = std::filesystem::relative(entry->path(), root);
    if (!IsOurs(relative)) {
      entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file()) continue;
    std::ostringstream text;
    text << std::ifstream(entry->path()).rdbuf();
    files.push_back({.path = relative.string(), .text = text.str()});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

std::string CodeOnly(std::string_view cpp) { return Blanker(cpp, false).Run(); }
std::string WithoutComments(std::string_view cpp) { return Blanker(cpp, true).Run(); }

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace triodrill::hygiene
