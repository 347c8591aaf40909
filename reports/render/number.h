// Numbers as people read them: always a unit, ranges with `~`, no space before `%`. Rounding never narrows an interval:
// its lower end is rounded down, its upper end up.
#pragma once

#include <cstdint>
#include <string>

#include "triodrill/time.h"

namespace triodrill {

std::string SecondsText(Nanos nanos);    // "1.234 s": at least so long, rounded down to the millisecond
std::string BoundText(Nanos nanos);      // "10 s", "0.5 s": exact, as somebody wrote it
std::string SpanText(const Span& span);  // "0.410~0.412 s"; below a tenth of a second "3.1~4.2 ms"
std::string WidthText(Nanos nanos);      // "0.8 ms", "12 us", rounded up
std::string PercentText(double share);   // 0.947 -> "94.7%"
std::string RatioText(double ratio);     // "0.667", "1"
std::string CountText(int64_t n, const char* one, const char* many);  // "1 step", "2 steps"

}  // namespace triodrill
