#include "coordinator/watch/series.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "coordinator/watch/bounded_json.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr size_t kMostSamples = 100'000;

Status Refused(std::string_view what) { return absl::InvalidArgumentError(Cat("read a query's answer: ", what)); }

// [timestamp, "value"]
Result<std::string> ValueOf(const nlohmann::json& pair) {
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_string()) {
    return Refused("a value is no pair of time and number");
  }
  auto value = pair[1].get<std::string>();
  double number = 0;
  if (!absl::SimpleAtod(value, &number)) return Refused("a value is no number");
  return value;
}

Result<Sample> MakeSample(const nlohmann::json& value, Labels labels) {
  Sample sample{.labels = std::move(labels), .value = {}};
  TRIODRILL_ASSIGN_OR_RETURN(sample.value, ValueOf(value));
  double number = 0;
  sample.there = absl::SimpleAtod(sample.value, &number) && !std::isnan(number) && number != 0;
  return sample;
}

Result<Labels> MetricOf(const nlohmann::json& series) {
  const nlohmann::json* metric = FindObject(series, "metric");
  if (metric == nullptr) return Refused("a series has no labels");
  Labels labels;
  for (const auto& [name, value] : metric->items()) {
    if (!value.is_string()) return Refused("a label is no text");
    labels[name] = value.get<std::string>();
  }
  return labels;
}

// `data` of an answer that is whole.
Result<nlohmann::json> DataOf(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const nlohmann::json root, ParseBounded(body));
  const nlohmann::json* status = FindText(root, "status");
  if (status == nullptr || *status != "success") return Refused("it is not marked as a success");
  if (const nlohmann::json* warnings = FindList(root, "warnings"); warnings != nullptr && !warnings->empty()) {
    return Refused("it comes with warnings: a part of it may be missing");
  }
  const nlohmann::json* data = FindObject(root, "data");
  if (data == nullptr || FindText(*data, "resultType") == nullptr || FindList(*data, "result") == nullptr) {
    return Refused("it has no result");
  }
  return *data;
}

}  // namespace

Result<std::vector<Sample>> ParseSamples(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const nlohmann::json data, DataOf(body));
  const nlohmann::json& result = *FindList(data, "result");
  std::vector<Sample> samples;
  if (*FindText(data, "resultType") == "scalar") {
    TRIODRILL_ASSIGN_OR_RETURN(Sample sample, MakeSample(result, {}));
    samples.push_back(std::move(sample));
    return samples;
  }
  if (*FindText(data, "resultType") != "vector") return Refused("the query is neither a vector nor a scalar");
  if (result.size() > kMostSamples) return Refused("too many series");
  for (const nlohmann::json& series : result) {
    TRIODRILL_ASSIGN_OR_RETURN(Labels labels, MetricOf(series));
    const auto value = series.find("value");
    if (value == series.end()) return Refused("a series has no value");
    TRIODRILL_ASSIGN_OR_RETURN(Sample sample, MakeSample(*value, std::move(labels)));
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<WallSpan> ParseServerTime(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const nlohmann::json data, DataOf(body));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string value, ValueOf(*FindList(data, "result")));
  double seconds = 0;
  constexpr double kLatest = 6e9;  // the year 2160
  if (!absl::SimpleAtod(value, &seconds) || !(seconds >= 0) || seconds > kLatest) return Refused("no time of day");
  // Written in whole milliseconds, cut off.
  const Nanos from = std::chrono::milliseconds(std::llround(seconds * 1000));
  return WallSpan{from, from + std::chrono::milliseconds(1)};
}

std::vector<Appeared> SeriesWatch::Take(const Instant& asked, std::vector<Sample> samples) {
  std::vector<Appeared> appeared;
  std::map<Labels, bool> now;
  for (Sample& sample : samples) {
    now[sample.labels] = sample.there;
    const auto before = there_.find(sample.labels);
    const bool was_there = before != there_.end() && before->second;
    if (!sample.there || was_there || !last_asked_) continue;
    appeared.push_back({std::move(sample), {*last_asked_ - scrape_interval_, asked.latest}});
  }
  there_ = std::move(now);
  last_asked_ = asked.earliest;
  return appeared;
}

}  // namespace triodrill::watch
