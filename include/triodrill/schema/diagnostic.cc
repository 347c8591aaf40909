#include "triodrill/schema/diagnostic.h"

#include "absl/strings/str_cat.h"

namespace triodrill {

std::string Diagnostic::Text() const {
  std::string text = file;
  if (line > 0) absl::StrAppend(&text, ":", line, ":", column);
  absl::StrAppend(&text, ": error: ", what);
  if (!hint.empty()) absl::StrAppend(&text, "; hint: ", hint);
  return text;
}

std::string Text(const std::vector<Diagnostic>& problems) {
  std::string text;
  for (const Diagnostic& problem : problems) absl::StrAppend(&text, problem.Text(), "\n");
  return text;
}

}  // namespace triodrill
