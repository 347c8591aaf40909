#include "reports/stats/multiple.h"

#include <algorithm>
#include <numeric>

namespace triodrill {

std::vector<double> Holm(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double worst = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    worst = std::max(worst, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    adjusted[order[i]] = worst;
  }
  return adjusted;
}

}  // namespace triodrill
