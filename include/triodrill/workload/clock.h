// The library's clocks: read only once a rule has matched.
#pragma once

#include <cstdint>

namespace triodrill::workload {

int64_t MonotonicNanos();
int64_t BoottimeNanos();

}  // namespace triodrill::workload
