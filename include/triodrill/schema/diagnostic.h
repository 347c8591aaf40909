// What is wrong with a text, where, and what to do about it: `file:line:column: error: what; hint: hint`.
#pragma once

#include <string>
#include <vector>

namespace triodrill {

struct Diagnostic {
  std::string file;
  int line = 0;    // from 1; 0 = the file as a whole
  int column = 0;  // from 1, in bytes
  std::string what;
  std::string hint;  // may be empty

  std::string Text() const;
  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

// Into the order of the text, from index `first` on; those of one place keep their order.
void SortByPlace(std::vector<Diagnostic>& problems, size_t first = 0);

// One diagnostic a line, each ended by a newline.
std::string Text(const std::vector<Diagnostic>& problems);

}  // namespace triodrill
