#include "triodrill/schema/diagnostic.h"

#include <algorithm>
#include <tuple>

#include "triodrill/text.h"

namespace triodrill {

std::string Diagnostic::Text() const {
  std::string text = file;
  if (line > 0) Append(text, ":", line, ":", column);
  Append(text, ": error: ", what);
  if (!hint.empty()) Append(text, "; hint: ", hint);
  return text;
}

void SortByPlace(std::vector<Diagnostic>& problems, size_t first) {
  std::stable_sort(
      problems.begin() + static_cast<std::ptrdiff_t>(first), problems.end(),
      [](const Diagnostic& a, const Diagnostic& b) { return std::tie(a.line, a.column) < std::tie(b.line, b.column); });
}

std::string Text(const std::vector<Diagnostic>& problems) {
  std::string text;
  for (const Diagnostic& problem : problems) Append(text, problem.Text(), "\n");
  return text;
}

}  // namespace triodrill
