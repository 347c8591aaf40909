// Several questions asked of one pair of runs. Pure.
#pragma once

#include <span>
#include <vector>

namespace triodrill {

// Holm's (1979) adjusted p-values, in the order given: reject where one is <= alpha, and the chance of even one wrong
// rejection is <= alpha, however the questions hang together.
std::vector<double> Holm(std::span<const double> p);

}  // namespace triodrill
