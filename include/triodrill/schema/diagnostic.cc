#include "triodrill/schema/diagnostic.h"

#include "triodrill/text.h"

namespace triodrill {

std::string Diagnostic::Text() const {
  std::string text = file;
  if (line > 0) Append(text, ":", line, ":", column);
  Append(text, ": error: ", what);
  if (!hint.empty()) Append(text, "; hint: ", hint);
  return text;
}

std::string Text(const std::vector<Diagnostic>& problems) {
  std::string text;
  for (const Diagnostic& problem : problems) Append(text, problem.Text(), "\n");
  return text;
}

}  // namespace triodrill
