// What the monitoring's rules, silences and configuration are, as digests that can be compared: taken before the first
// trial and after the last. What changes by itself (times of evaluation, health, uptime, which alerts fire) is left
// out. Canonicals are pure; TakeFingerprint asks, with GET alone.
#pragma once

#include <string_view>
#include <vector>

#include "coordinator/watch/http_reader.h"
#include "triodrill/status.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::watch {

using Parts = std::vector<v1::MonitoringPart>;

Result<Parts> PartsOfRules(std::string_view body);               // /api/v1/rules: one for each rule, one for each group
Result<Parts> PartsOfPrometheusConfig(std::string_view body);    // /api/v1/status/config
Result<Parts> PartsOfSilences(std::string_view body);            // /api/v2/silences: one for each
Result<Parts> PartsOfAlertmanagerStatus(std::string_view body);  // /api/v2/status

// Either may be null: it is not watched. Tells of the first that cannot be read.
Result<v1::MonitoringFingerprint> TakeFingerprint(HttpReader* prometheus, HttpReader* alertmanager);

}  // namespace triodrill::watch
