#include "reports/measure/monitoring.h"

#include <map>

#include "absl/strings/str_cat.h"

namespace triodrill {
namespace {

using Parts = std::map<std::string, const v1::MonitoringPart*>;

Parts ByName(const v1::MonitoringFingerprint& fingerprint) {
  Parts parts;
  for (const v1::MonitoringPart& part : fingerprint.parts()) parts[part.name()] = &part;
  return parts;
}

std::vector<std::string> Changes(const v1::MonitoringFingerprint& before, const v1::MonitoringFingerprint& after) {
  const Parts was = ByName(before);
  const Parts is = ByName(after);
  std::vector<std::string> changes;
  for (const auto& [name, part] : was) {
    const auto now = is.find(name);
    if (now == is.end()) {
      if (!part->may_vanish()) changes.push_back(absl::StrCat(name, " is gone"));
    } else if (now->second->sha256() != part->sha256()) {
      changes.push_back(absl::StrCat(name, " was changed"));
    }
  }
  for (const auto& [name, part] : is) {
    if (!was.contains(name)) changes.push_back(absl::StrCat(name, " was added"));
  }
  return changes;
}

}  // namespace

MonitoringFacts MeasureMonitoring(const Timeline& timeline, bool fingerprinted) {
  MonitoringFacts measured;
  measured.fingerprinted = fingerprinted;
  const v1::MonitoringFingerprint* before = nullptr;
  const v1::MonitoringFingerprint* after = nullptr;
  for (const v1::Fact& fact : timeline.facts) {
    if (fact.has_monitoring_fingerprint()) {
      const v1::MonitoringFingerprint& taken = fact.monitoring_fingerprint();
      (taken.when() == "before" ? before : after) = &taken;
    } else if (fact.has_monitoring_gap() && fact.trial() > 0) {
      const v1::MonitoringGap& gap = fact.monitoring_gap();
      measured.gaps.push_back(absl::StrCat("trial ", fact.trial(), ": ", gap.source(), ": ", gap.problem()));
    }
  }
  if (!fingerprinted) return measured;
  if (before == nullptr) {
    measured.problem = "it was not fingerprinted before the first trial";
  } else if (after == nullptr) {
    measured.problem = "it was not fingerprinted after the last trial";
  } else if (!before->problem().empty() || !after->problem().empty()) {
    const bool first = !before->problem().empty();
    measured.problem = first ? absl::StrCat("before the first trial: ", before->problem())
                             : absl::StrCat("after the last trial: ", after->problem());
  } else {
    measured.parts = before->parts_size();
    measured.changes = Changes(*before, *after);
  }
  return measured;
}

}  // namespace triodrill
