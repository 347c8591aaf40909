// The readings as dcgm-exporter would show them: Prometheus' text format, DCGM's names and units. Pure.
#pragma once

#include <string>
#include <vector>

#include "drills/shadow/gpu/reading.h"

namespace triodrill::shadow::gpu {

inline constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

// A GPU that is lost shows its XID and nothing else: nobody can ask it.
std::string MetricsText(const std::vector<Reading>& readings, const std::string& host);

}  // namespace triodrill::shadow::gpu
