// The known word that somebody probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace triodrill {

// Insertions, deletions, substitutions and swaps of neighbours, each at a cost of one.
int EditDistance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, letter case aside; empty if all are too far to be a slip of the keyboard.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean `x`? " or nothing, then "known: a, b, c".
std::string SuggestFrom(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace triodrill
