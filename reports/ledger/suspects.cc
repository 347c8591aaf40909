#include "reports/ledger/suspects.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "reports/measure/topology.h"
#include "reports/measure/trial_facts.h"
#include "reports/stats/power.h"
#include "triodrill/schema/json.h"
#include "triodrill/slot.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

// What a re-test is sized for: so many trials without a miss (or without a report) bound the share at 95% confidence.
constexpr double kShare = 0.95;
constexpr double kConfidence = 0.95;
constexpr int kMostNodesNamed = 16;
constexpr size_t kLongestRaw = 2000;

bool IsWordChar(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// "fault=sdc", "sdc_ledger", "sdc-ledger"; not "sdcard".
bool HasWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsWordChar(text[at - 1])) && (end == text.size() || !IsWordChar(text[end]))) return true;
  }
  return false;
}

std::string NodesText(const v1::Plan& plan) {
  std::vector<std::string> names;
  for (const v1::Node& node : plan.partition().spec().nodes()) names.push_back(node.name());
  std::string text = Cat("of ", plan.partition().metadata().name(), " (");
  const size_t named = std::min<size_t>(names.size(), kMostNodesNamed);
  text += absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", ");
  if (names.size() > named) Append(text, " and ", names.size() - named, " more");
  return text + ")";
}

std::string NodeOf(const std::string& slot) {
  const std::optional<Slot> parsed = ParseSlot(slot);
  return parsed ? parsed->node : slot;
}

std::string TrialsText() { return std::to_string(TrialsForShare(kShare, kConfidence).value_or(0)); }

// The fault again: is it caught on every node, and again on this one?
void ProposeForInjected(const v1::Plan& plan, SdcRow& row) {
  const std::string& drill = plan.drill().metadata().name();
  const std::string call = Cat("`triodrill run ", drill, ".yaml --pipeline ", plan.pipeline().metadata().name(),
                               " --trials ", TrialsText(), "`");
  const std::string check = row.signal.empty() ? std::string("any check") : Cat("check ", row.signal);
  const std::string support =
      Cat(TrialsText(), " of ", TrialsText(), " caught by ", check, " support a share of 95% at 95%");
  row.fleet_wide =
      Cat("on each node ", NodesText(plan), ": ", call, " with target {role: rank, nodes: [NODE], pick: 1}; ", support);
  row.co_located =
      Cat("on the same node, slot and GPU: ", call, " with target {role: rank, nodes: [", NodeOf(row.slot),
          "]}, of which the trials on ", row.slot, " count, with its GPU neither reset nor replaced; ", support);
}

// No fault, and the same checks: who is named, and is it the same one again?
void ProposeForSuspect(const v1::Plan& plan, SdcRow& row) {
  const std::string call =
      Cat("`triodrill run no-fault.yaml --pipeline ", plan.pipeline().metadata().name(), " --sham ", TrialsText(), "`");
  const std::string support = Cat(TrialsText(), " without a report bound its share below 5% at 95%");
  row.fleet_wide = Cat("on every node ", NodesText(plan), ", all slots serving: ", call, "; check ", row.signal,
                       "; whoever is named is one more entry here");
  row.co_located = Cat("on the same node, slot and GPU: ", call, " with ", row.slot,
                       " serving, its GPU neither reset nor replaced; check ", row.signal, "; ", support);
}

const v1::Shot* ShotOf(const v1::Plan& plan, int trial, const std::string& name) {
  for (const v1::PlannedTrial& planned : plan.trials()) {
    if (planned.number() != trial) continue;
    for (const v1::Shot& shot : planned.shots()) {
      if (Cat(trial, ".", shot.fault_id(), ".", shot.index()) == name) return &shot;
    }
  }
  return nullptr;
}

std::string OutcomeOf(const TrialTrio& trial) {
  if (!trial.valid) return "not_valid";
  if (trial.masked) return "masked";
  return trial.detection && !trial.detection->censored() ? "detected" : "missed";
}

SdcRow InjectedRow(const v1::Plan& plan, const TrialTrio& trial, const FaultedTarget& target) {
  SdcRow row{.trial = trial.trial, .valid = trial.valid};
  row.slot = target.slot.empty() ? target.node : target.slot;
  row.changed = target.kind;
  row.proof = target.evidence;
  row.outcome = OutcomeOf(trial);
  if (const v1::Shot* shot = ShotOf(plan, trial.trial, target.shot)) row.parameters = ToJson(shot->with());
  if (trial.detected_by) {
    row.named = Name(trial.detected_by->naming);
    row.signal = trial.detected_by->signal;
    row.source = trial.detected_by->source;
    row.raw = trial.detected_by->raw.substr(0, kLongestRaw);
  }
  if (trial.detection) {
    row.latency = trial.detection->seen ? Timed{trial.detection->seen->min, trial.detection->seen->max}
                                        : Timed{trial.detection->censored_at, std::nullopt};
  }
  row.reports = trial.reports;
  ProposeForInjected(plan, row);
  return row;
}

// Whoever the signal names had its data changed by the drill in that trial.
bool WasInjected(const TrialTrio* trial, std::string_view named) {
  if (trial == nullptr || trial->sham) return false;
  return std::any_of(trial->targets.begin(), trial->targets.end(), [&](const FaultedTarget& target) {
    return ChangesData(target.kind) && Topology::Means(named, target.slot.empty() ? target.node : target.slot);
  });
}

bool SpeaksOfFaults(v1::Meaning means) { return means != v1::PROGRESS && means != v1::STATE && means != v1::RESTORED; }

// The suspects of one trial (0: between trials), each with the report that the pipeline stands for if there is one.
std::vector<SdcRow> SuspectsIn(const v1::Plan& plan, const Timeline& timeline, int number, const TrialTrio* trial) {
  std::vector<SdcRow> rows;
  std::vector<v1::Meaning> means;
  for (const v1::Fact& fact : timeline.facts) {
    if (!fact.has_signal() || fact.trial() != number) continue;
    const v1::SignalSeen& said = fact.signal();
    if (said.named().empty() || !SpeaksOfFaults(said.means()) || !SaysSdc(said.signal(), said.raw())) continue;
    if (WasInjected(trial, said.named())) continue;
    auto at = std::find_if(rows.begin(), rows.end(), [&](const SdcRow& row) { return row.slot == said.named(); });
    const bool better = at != rows.end() && said.means() == v1::DETECTED &&
                        means[static_cast<size_t>(at - rows.begin())] != v1::DETECTED;
    if (at == rows.end()) {
      at = rows.insert(rows.end(), SdcRow{.trial = number, .slot = said.named()});
      means.push_back(said.means());
    }
    ++at->reports;
    if (at->reports > 1 && !better) continue;
    means[static_cast<size_t>(at - rows.begin())] = said.means();
    at->valid = trial != nullptr && trial->valid;
    at->outcome = "reported";
    at->signal = said.signal();
    at->source = said.source();
    at->raw = said.raw().substr(0, kLongestRaw);
    if (trial != nullptr && trial->landed && !trial->sham) {
      const Span since = Between(*trial->landed, InstantOf(fact));
      at->latency = Timed{since.min, since.max};
    }
  }
  for (SdcRow& row : rows) ProposeForSuspect(plan, row);
  return rows;
}

}  // namespace

bool ChangesData(std::string_view kind) { return kind.starts_with("tensor.") || kind == "collective.corrupt"; }

bool SaysSdc(std::string_view signal, std::string_view raw) {
  const std::string id = absl::AsciiStrToLower(View(signal));
  const std::string line = absl::AsciiStrToLower(View(raw));
  return HasWord(id, "sdc") || HasWord(line, "sdc") || line.find("silent data corruption") != std::string::npos;
}

std::vector<SdcRow> SdcOf(const v1::Plan& plan, const Timeline& timeline, const Trio& trio) {
  std::vector<SdcRow> all;
  const auto add = [&](std::vector<SdcRow> rows) {
    for (SdcRow& row : rows) all.push_back(std::move(row));
  };
  for (const TrialTrio& trial : trio.trials) {
    for (const FaultedTarget& target : trial.targets) {
      if (!trial.sham && ChangesData(target.kind)) all.push_back(InjectedRow(plan, trial, target));
    }
    add(SuspectsIn(plan, timeline, trial.trial, &trial));
  }
  add(SuspectsIn(plan, timeline, 0, nullptr));
  return all;
}

std::vector<ServedRow> ServedIn(const Trio& trio, const std::vector<SdcRow>& sdc) {
  std::map<std::string, int64_t> trials;
  for (const TrialTrio& trial : trio.trials) {
    if (!trial.valid) continue;
    std::set<std::string> there(trial.members.begin(), trial.members.end());
    there.insert(trial.serving.begin(), trial.serving.end());
    there.insert(trial.serving_after.begin(), trial.serving_after.end());
    for (const SdcRow& row : sdc) {  // who is suspected was there, whatever its progress
      if (row.trial == trial.trial) there.insert(row.slot);
    }
    std::set<std::string> nodes;
    for (const std::string& slot : there) nodes.insert(NodeOf(slot));
    there.merge(nodes);
    for (const std::string& name : there) ++trials[name];
  }
  std::vector<ServedRow> rows;
  rows.reserve(trials.size());
  for (const auto& [slot, count] : trials) rows.push_back({slot, count});
  return rows;
}

}  // namespace triodrill::ledger
