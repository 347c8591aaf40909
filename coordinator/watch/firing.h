// What Alertmanager says: firing alerts, from a webhook's body (version 4) or from /api/v2/alerts. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::watch {

using Labels = std::map<std::string, std::string>;

struct Firing {
  std::string fingerprint;  // of the labels: the same for each firing of one alert
  std::string starts_at;    // as it was written
  Nanos starts_wall{};      // the same, since 1970, on the clock of whoever evaluates the rules
  Labels labels;
};

struct Webhook {
  std::vector<Firing> firing;  // those that are resolved are left out
  int64_t left_out = 0;        // alerts that Alertmanager did not send along (max_alerts)
};

inline constexpr size_t kMostWebhookBytes = size_t{1} << 20;

// A body is taken as a whole or not at all: fields that are not known are passed over, one that is of a wrong type, or
// missing where a firing needs it, refuses it.
Result<Webhook> ParseWebhook(std::string_view body);

// Those that are active: neither silenced nor inhibited.
Result<std::vector<Firing>> ParseAlerts(std::string_view body);

// Which firings were met before. An alert is sent again and again as long as it fires; one firing is known by its
// fingerprint and the instant it started.
class MetFirings {
 public:
  // True the first time. Remembers the newest 100,000.
  bool Meet(const Firing& firing);

 private:
  using Key = std::pair<Nanos, std::string>;  // oldest first
  std::set<Key> met_;
};

// When the thing that a firing reports became so. Prometheus writes startsAt when an evaluation of the rule first finds
// it (or, with `for`, has found it long enough), and the evaluation before had not: no earlier than startsAt minus one
// evaluation. The webhook has no send time, so the end is its receipt. startsAt is another machine's claim and counts
// only once its clock was measured (`started`). Without it, or when it contradicts the receipt, the last question at
// which Alertmanager did not list the firing stands in (an evaluation could have been on its way to it), and without
// that one there is no lower end: the machine's start.
Instant FiringInstant(TimePoint received, const std::optional<Instant>& started,
                      const std::optional<TimePoint>& not_yet, Nanos evaluation_interval);

}  // namespace triodrill::watch
