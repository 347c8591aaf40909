#include "coordinator/watch/fingerprint.h"

#include <initializer_list>

#include "coordinator/watch/bounded_json.h"
#include "reports/evidence/files.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

using nlohmann::json;

Status Refused(std::string_view what) { return absl::InvalidArgumentError(Cat("fingerprint the monitoring: ", what)); }

// nlohmann keeps an object's members sorted by name: its dump is canonical.
std::string DigestOf(const json& value) {
  return Sha256Hex(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

// Those of the members that are there.
json Only(const json& object, std::initializer_list<const char*> names) {
  json kept = json::object();
  for (const char* name : names) {
    if (const auto found = object.find(name); found != object.end()) kept[name] = *found;
  }
  return kept;
}

v1::MonitoringPart Part(std::string name, const json& value) {
  v1::MonitoringPart part;
  part.set_name(std::move(name));
  part.set_sha256(DigestOf(value));
  return part;
}

std::string TextOr(const json& object, const char* name, const char* otherwise) {
  const json* text = FindText(object, name);
  return text == nullptr ? otherwise : text->get<std::string>();
}

// `data` of an answer of Prometheus.
Result<json> DataOf(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const json root, ParseBounded(body));
  const json* data = FindObject(root, "data");
  if (TextOr(root, "status", "") != "success" || data == nullptr) return Refused("Prometheus' answer is not whole");
  return *data;
}

}  // namespace

Result<Parts> PartsOfRules(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const json data, DataOf(body));
  const json* groups = FindList(data, "groups");
  if (groups == nullptr) return Refused("Prometheus tells of no groups of rules");
  Parts parts;
  for (const json& group : *groups) {
    const json* rules = FindList(group, "rules");
    if (rules == nullptr) return Refused("a group has no rules");
    const std::string name = Cat(TextOr(group, "file", "?"), "/", TextOr(group, "name", "?"));
    json kept = Only(group, {"name", "file", "interval", "limit"});
    kept["rules"] = rules->size();  // and their order by the numbers below
    parts.push_back(Part(Cat("group ", name), kept));
    int number = 0;
    for (const json& rule : *rules) {
      if (!rule.is_object()) return Refused("a rule is no object");
      ++number;
      const json of_rule = Only(rule, {"type", "name", "query", "duration", "keepFiringFor", "labels", "annotations"});
      parts.push_back(Part(Cat("rule ", name, "/", TextOr(rule, "name", "?"), " (", number, ")"), of_rule));
    }
  }
  return parts;
}

Result<Parts> PartsOfPrometheusConfig(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const json data, DataOf(body));
  const json* yaml = FindText(data, "yaml");
  if (yaml == nullptr) return Refused("Prometheus does not tell its configuration");
  return Parts{Part("configuration of Prometheus", *yaml)};
}

Result<Parts> PartsOfSilences(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const json root, ParseBounded(body));
  if (!root.is_array()) return Refused("Alertmanager's silences are no list");
  Parts parts;
  for (const json& silence : root) {
    const json* status = FindObject(silence, "status");
    const json* id = FindText(silence, "id");
    if (status == nullptr || id == nullptr) return Refused("a silence has no id or no status");
    json kept = silence;
    kept.erase("status");  // runs out by itself; that somebody ended it shows in endsAt
    parts.push_back(Part(Cat("silence ", id->get<std::string>()), kept));
    parts.back().set_may_vanish(TextOr(*status, "state", "") == "expired");
  }
  return parts;
}

Result<Parts> PartsOfAlertmanagerStatus(std::string_view body) {
  TRIODRILL_ASSIGN_OR_RETURN(const json root, ParseBounded(body));
  const json* config = FindObject(root, "config");
  const json* original = config == nullptr ? nullptr : FindText(*config, "original");
  if (original == nullptr) return Refused("Alertmanager does not tell its configuration");
  return Parts{Part("configuration of Alertmanager", *original)};
}

Result<v1::MonitoringFingerprint> TakeFingerprint(HttpReader* prometheus, HttpReader* alertmanager) {
  struct Page {
    HttpReader* from;
    const char* path;
    Result<Parts> (*parts)(std::string_view);
  };
  const Page pages[] = {{prometheus, "/api/v1/rules", PartsOfRules},
                        {prometheus, "/api/v1/status/config", PartsOfPrometheusConfig},
                        {alertmanager, "/api/v2/status", PartsOfAlertmanagerStatus},
                        {alertmanager, "/api/v2/silences", PartsOfSilences}};
  v1::MonitoringFingerprint fingerprint;
  for (const Page& page : pages) {
    if (page.from == nullptr) continue;
    TRIODRILL_ASSIGN_OR_RETURN(const HttpReader::Answer answer, page.from->Get(page.path));
    TRIODRILL_ASSIGN_OR_RETURN(const Parts parts, page.parts(answer.body));
    fingerprint.mutable_parts()->Add(parts.begin(), parts.end());
  }
  return fingerprint;
}

}  // namespace triodrill::watch
