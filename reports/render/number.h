// Numbers as people read them: always a unit, ranges with `~`, no space before `%`. Rounding never narrows an interval:
// its lower end is rounded down, its upper end up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "triodrill/time.h"

namespace triodrill {

std::string SecondsText(Nanos nanos);                                           // "1.234 s", to the millisecond
std::string SpanText(const Span& span);                                         // "0.410~0.412 s"
std::string WidthText(Nanos nanos);                                             // "0.8 ms", "12 us"
std::string PercentText(double share);                                          // "94.7%"
std::string CountText(int64_t n, std::string_view one, std::string_view many);  // "1 step", "2 steps"

}  // namespace triodrill
