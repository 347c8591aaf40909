#include "coordinator/watch/firing.h"

#include "absl/time/time.h"
#include "coordinator/watch/bounded_json.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr size_t kMostAlerts = 10'000;
constexpr size_t kMostLabels = 256;
constexpr size_t kLongestText = 4096;
constexpr size_t kMostMet = 100'000;

Status Refused(std::string_view what) { return absl::InvalidArgumentError(Cat("read alerts: ", what)); }

Result<std::string> Text(const nlohmann::json& object, const char* name) {
  const nlohmann::json* text = FindText(object, name);
  if (text == nullptr) return Refused(Cat("`", name, "` is missing or no text"));
  auto value = text->get<std::string>();
  if (value.empty() || value.size() > kLongestText) return Refused(Cat("`", name, "` is empty or too long"));
  return value;
}

Result<Labels> ReadLabels(const nlohmann::json& alert) {
  const nlohmann::json* labels = FindObject(alert, "labels");
  if (labels == nullptr) return Refused("`labels` is missing or no object");
  if (labels->size() > kMostLabels) return Refused("too many labels");
  Labels read;
  for (const auto& [name, value] : labels->items()) {
    if (!value.is_string() || value.get_ref<const std::string&>().size() > kLongestText) {
      return Refused("a label is no text, or too long");
    }
    read[name] = value.get<std::string>();
  }
  if (!read.contains("alertname")) return Refused("an alert has no name");
  return read;
}

Result<Firing> ReadFiring(const nlohmann::json& alert) {
  Firing firing;
  TRIODRILL_ASSIGN_OR_RETURN(firing.fingerprint, Text(alert, "fingerprint"));
  TRIODRILL_ASSIGN_OR_RETURN(firing.starts_at, Text(alert, "startsAt"));
  TRIODRILL_ASSIGN_OR_RETURN(firing.labels, ReadLabels(alert));
  absl::Time starts;
  std::string error;
  const bool read = absl::ParseTime(absl::RFC3339_full, firing.starts_at, &starts, &error);
  if (!read || starts < absl::UnixEpoch() || starts > absl::UnixEpoch() + absl::Hours(24 * 366 * 200)) {
    return Refused("`startsAt` is no time");
  }
  firing.starts_wall = Nanos(absl::ToUnixNanos(starts));
  return firing;
}

}  // namespace

Result<Webhook> ParseWebhook(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const nlohmann::json root, ParseBounded(body, kMostWebhookBytes));
  const nlohmann::json* version = FindText(root, "version");
  if (version == nullptr || *version != "4") return Refused("no webhook of version 4");
  const nlohmann::json* alerts = FindList(root, "alerts");
  if (alerts == nullptr) return Refused("`alerts` is missing or no list");
  if (alerts->size() > kMostAlerts) return Refused("too many alerts");
  Webhook webhook;
  if (const auto left_out = root.find("truncatedAlerts"); left_out != root.end() && !left_out->is_null()) {
    if (!left_out->is_number_unsigned()) return Refused("`truncatedAlerts` is no count");
    webhook.left_out = static_cast<int64_t>(std::min(left_out->get<uint64_t>(), uint64_t{1} << 40));
  }
  for (const nlohmann::json& alert : *alerts) {
    TRIODRILL_ASSIGN_OR_RETURN(const std::string status, Text(alert, "status"));
    if (status != "firing" && status != "resolved") return Refused("a `status` is neither firing nor resolved");
    TRIODRILL_ASSIGN_OR_RETURN(Firing firing, ReadFiring(alert));
    if (status == "firing") webhook.firing.push_back(std::move(firing));
  }
  return webhook;
}

Result<std::vector<Firing>> ParseAlerts(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const nlohmann::json root, ParseBounded(body));
  if (!root.is_array()) return Refused("no list of alerts");
  std::vector<Firing> firing;
  for (const nlohmann::json& alert : root) {
    const nlohmann::json* status = FindObject(alert, "status");
    if (status == nullptr) return Refused("`status` is missing or no object");
    TRIODRILL_ASSIGN_OR_RETURN(const std::string state, Text(*status, "state"));
    if (state != "active") continue;
    TRIODRILL_ASSIGN_OR_RETURN(Firing one, ReadFiring(alert));
    firing.push_back(std::move(one));
  }
  return firing;
}

bool MetFirings::Meet(const Firing& firing) {
  const bool fresh = met_.emplace(firing.starts_wall, firing.fingerprint).second;
  if (met_.size() > kMostMet) met_.erase(met_.begin());
  return fresh;
}

Instant FiringInstant(TimePoint received, const std::optional<Instant>& started,
                      const std::optional<TimePoint>& not_yet, Nanos evaluation_interval) {
  if (started && started->earliest <= received) return {started->earliest - evaluation_interval, received};
  if (not_yet) return {std::min(*not_yet - evaluation_interval, received), received};
  return {TimePoint{}, received};
}

}  // namespace triodrill::watch
