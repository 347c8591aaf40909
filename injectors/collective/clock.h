// The preloaded library's clocks and its one way of waiting: used only once a rule has matched.
#pragma once

#include <cstdint>

namespace triodrill::collective {

int64_t MonotonicNanos();
int64_t BoottimeNanos();
// Half a millisecond, or `most_ns` if that is less.
void PauseBriefly(int64_t most_ns);

}  // namespace triodrill::collective
