// Answers of Prometheus to an instant query that is asked again and again, and what is new in them. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/watch/firing.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::watch {

struct Sample {
  Labels labels;
  std::string value;   // as it was written
  bool there = false;  // a number that is neither zero nor NaN
};

// A vector or a scalar. An answer with warnings (a part of the storage did not answer) is refused: what it does not
// show may be there all the same.
Result<std::vector<Sample>> ParseSamples(std::string_view body);

// The answer to `time()`, on the server's clock: [from, to] since 1970.
struct WallSpan {
  Nanos from{};
  Nanos to{};
};
Result<WallSpan> ParseServerTime(std::string_view body);

struct Appeared {
  Sample sample;
  Instant at;
};

// One query. A series that was absent or zero in the last answer and is there in this one has appeared. Between: the
// earliest is when the last answer that did not show it was asked for, less a scrape interval, since that answer could
// rest on a sample of a whole scrape before; the latest is when the answer was there. An exporter that does not answer
// is no sample (Prometheus marks its series as gone), so a sample is never older than that. What the very first answer
// shows was there before anybody watched: it is none. A question without an answer changes nothing but the next
// interval.
class SeriesWatch {
 public:
  explicit SeriesWatch(Nanos scrape_interval) : scrape_interval_(scrape_interval) {}
  std::vector<Appeared> Take(const Instant& asked, std::vector<Sample> samples);

 private:
  const Nanos scrape_interval_;
  std::optional<TimePoint> last_asked_;
  std::map<Labels, bool> there_;  // of the last answer
};

}  // namespace triodrill::watch
