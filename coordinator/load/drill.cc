#include <map>
#include <set>

#include "coordinator/load/rules.h"
#include "triodrill/schema/units.h"
#include "triodrill/text.h"
#include "triodrill/time.h"

namespace triodrill::load {
namespace {

void CheckIds(const v1::DrillSpec& spec, const Complaints& complaints) {
  std::set<std::string> ids;
  for (int i = 0; i < spec.faults_size(); ++i) {
    const std::string& id = spec.faults(i).id();
    if (ids.insert(id).second) continue;
    complaints.Add(Cat("spec.faults[", i, "].id"), Cat("two faults are called `", id, "`"), "give each its own id");
  }
}

// A fault that waits for another that waits for it would never be fired.
void CheckOrder(const v1::DrillSpec& spec, const Complaints& complaints) {
  std::map<std::string, int> index;
  for (int i = 0; i < spec.faults_size(); ++i) index.emplace(spec.faults(i).id(), i);
  for (int i = 0; i < spec.faults_size(); ++i) {
    const std::string path = Cat("spec.faults[", i, "].start.of");
    const std::string& of = spec.faults(i).start().of();
    if (of.empty()) continue;
    if (!index.contains(of)) {
      complaints.Add(path, Cat("no fault is called `", of, "`"), "name the id of another fault of this drill");
      continue;
    }
    if (index[of] == i) {
      complaints.Add(path, "the fault waits for itself", "name another fault");
      continue;
    }
    int at = index[of];
    for (int steps = 0; at != i && steps < spec.faults_size(); ++steps) {
      const auto next = index.find(spec.faults(at).start().of());
      if (next == index.end()) break;
      at = next->second;
    }
    if (at == i) complaints.Add(path, "the faults wait for each other in a circle", "start one of them by itself");
  }
}

// Objectives that only a trial with a fault can meet or miss.
bool HasFaultObjective(const v1::Expect& expect) {
  return expect.has_detection_latency() || expect.has_isolation() || expect.has_recovery_time() ||
         expect.has_steps_lost() || expect.coverage_size() > 0 || expect.has_interruption() || expect.has_restarts() ||
         expect.has_reports() || !expect.state_check().empty();
}

void CheckExpect(const v1::DrillSpec& spec, const Complaints& complaints) {
  const v1::Expect& expect = spec.expect();
  if (!HasFaultObjective(expect) && !expect.has_false_alarms()) {
    complaints.Add("spec.expect", "the drill expects nothing",
                   "give it one objective at least, like detection_latency");
  }
  const v1::IsolationBound& isolation = expect.isolation();
  if (expect.has_isolation() && isolation.at_most() == v1::DOMAIN_UNSPECIFIED && isolation.precision().empty() &&
      isolation.recall().empty()) {
    complaints.Add("spec.expect.isolation", "`isolation` bounds nothing", "give at_most, precision or recall");
  }
  for (const auto& [name, text] : {std::pair("precision", isolation.precision()), {"recall", isolation.recall()}}) {
    if (text.empty()) continue;
    const auto comparison = ParseComparison(text);
    if (comparison.ok() && (comparison->value < 0 || comparison->value > 1)) {
      complaints.Add(Cat("spec.expect.isolation.", name), Cat("`", name, "` is a share, from 0 to 1"),
                     "compare with a number from 0 to 1");
    }
  }
  CheckStepNames(expect.coverage(), "spec.expect.coverage", complaints);
  if (!expect.state_check().empty() && expect.state_check() != "equal") {
    complaints.Add("spec.expect.state_check", Cat("there is no state check `", expect.state_check(), "`"),
                   "write state_check: equal");
  }
}

void CheckTrials(const v1::DrillSpec& spec, const Complaints& complaints) {
  const v1::Trials& trials = spec.trials();
  if (trials.faulted() == 0 && trials.sham() == 0) {
    complaints.Add("spec.trials", "the drill has no trial", "give faulted or sham a number above 0");
    return;
  }
  if (trials.faulted() > 0 && spec.faults_size() == 0) {
    const bool written = complaints.places.Written("spec.faults") || !complaints.places.Written("spec.trials.faulted");
    complaints.Add(written ? "spec.faults" : "spec.trials.faulted", "trials with a fault, and no fault",
                   "add one to `faults`, or write trials: {faulted: 0, sham: 3}");
  }
  if (trials.faulted() == 0 && spec.faults_size() > 0) {
    complaints.Add("spec.trials.faulted", "faults, and no trial with a fault", "give faulted a number above 0");
  }
  if (trials.faulted() == 0 && HasFaultObjective(spec.expect())) {
    complaints.Add("spec.expect", "an objective that only a trial with a fault can meet, and no such trial",
                   "expect false_alarms alone, or give trials.faulted a number above 0");
  }
  if (trials.sham() == 0 && spec.expect().has_false_alarms()) {
    complaints.Add("spec.expect.false_alarms", "false alarms are counted in sham trials, and there are none",
                   "write trials: {sham: 1}");
  }
}

void CheckDeadline(const v1::DrillSpec& spec, const Complaints& complaints) {
  const auto check = [&](const char* name, const google::protobuf::Duration& deadline, const char* objective,
                         const v1::DurationBound& bound) {
    if (!bound.has_max() || ToNanos(deadline) >= ToNanos(bound.max())) return;
    const std::string path = Cat("spec.deadline.", name);
    complaints.Add(complaints.places.Written(path) ? path : Cat("spec.expect.", objective, ".max"),
                   Cat("the deadline for ", name, ", ", FormatDuration(deadline), ", is shorter than its objective, ",
                       FormatDuration(bound.max())),
                   Cat("give deadline.", name, " ", FormatDuration(bound.max()), " or more"));
  };
  check("detection", spec.deadline().detection(), "detection_latency", spec.expect().detection_latency());
  check("recovery", spec.deadline().recovery(), "recovery_time", spec.expect().recovery_time());
}

}  // namespace

void CheckDrill(const v1::Drill& drill, const Complaints& complaints) {
  const v1::DrillSpec& spec = drill.spec();
  CheckIds(spec, complaints);
  for (int i = 0; i < spec.faults_size(); ++i) CheckFault(spec, i, complaints);
  CheckOrder(spec, complaints);
  CheckExpect(spec, complaints);
  CheckTrials(spec, complaints);
  CheckDeadline(spec, complaints);
}

}  // namespace triodrill::load
