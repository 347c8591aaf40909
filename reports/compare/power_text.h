// How many trials the questions of a drill need, as text. Pure.
#pragma once

#include <string>

#include "reports/compare/metric.h"

namespace triodrill {

// For so many planned trials: what they support if all pass, what more would, and what a comparison takes.
std::string PowerText(int faulted, int sham, const CompareOptions& options);

}  // namespace triodrill
