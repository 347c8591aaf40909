#include "injectors/journal/undo_report.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "triodrill/text.h"

namespace triodrill {
namespace {

std::string UtcText(int64_t wall_ns) {
  const time_t seconds = wall_ns / 1'000'000'000;
  tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr) return "?";
  const size_t size = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, size};
}

std::string HowToSettle(const std::string& directory, const std::string& file) {
  const std::string shot = file.substr(0, file.rfind('.'));
  return Cat("then: triodrill-undo --journal ", directory, " --forget ", shot);
}

}  // namespace

std::string ListText(const std::string& directory, const std::vector<UndoJournal::Entry>& entries) {
  if (entries.empty()) return Cat(directory, ": nothing is owed\n");
  std::string text;
  for (const UndoJournal::Entry& entry : entries) {
    if (!entry.record.ok()) {
      Append(text, entry.file, "\n  ", entry.record.status().message(), "\n  look over this node by hand, ",
             HowToSettle(directory, entry.file), "\n");
      continue;
    }
    const v1::UndoRecord& record = *entry.record;
    Append(text, record.fault().shot(), "\n  fault    ", record.fault().kind(), " of run ", record.fault().run_id(),
           "\n  resource ", record.resource(), "\n  written  ", UtcText(record.written_wall_ns()),
           ", held for at most ", static_cast<double>(record.max_hold_ns()) / 1e9, " s\n  by hand  ", record.by_hand(),
           "\n");
  }
  return text;
}

std::string ListJson(const std::string& directory, const std::vector<UndoJournal::Entry>& entries) {
  nlohmann::ordered_json tree = {{"journal", directory}, {"records", nlohmann::ordered_json::array()}};
  for (const UndoJournal::Entry& entry : entries) {
    nlohmann::ordered_json one = {{"file", entry.file}, {"problem", ""}, {"record", nullptr}};
    std::string record;
    if (!entry.record.ok()) {
      one["problem"] = std::string(entry.record.status().message());
    } else if (google::protobuf::util::MessageToJsonString(*entry.record, &record).ok()) {
      one["record"] = nlohmann::ordered_json::parse(record, nullptr, false);
    }
    tree["records"].push_back(std::move(one));
  }
  return tree.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string ConfirmedText(const std::vector<ReplayOutcome>& outcomes) {
  std::string text;
  for (const ReplayOutcome& outcome : outcomes) {
    if (!outcome.confirmed) continue;
    Append(text, "undone ", outcome.record.fault().shot(), " (", outcome.record.fault().kind(), " on ",
           outcome.record.resource(), "): ", outcome.evidence, "\n");
  }
  return text;
}

std::string UnconfirmedText(const std::string& directory, const std::vector<ReplayOutcome>& outcomes) {
  std::string text;
  for (const ReplayOutcome& outcome : outcomes) {
    if (outcome.confirmed) continue;
    Append(text, "triodrill-undo: NOT CONFIRMED ", outcome.file, ": ", outcome.problem, "\n");
    if (!outcome.record.by_hand().empty()) Append(text, "  by hand: ", outcome.record.by_hand(), "\n");
    Append(text, "  ", HowToSettle(directory, outcome.file), "\n");
  }
  return text;
}

std::string ReplayJson(const std::string& directory, const std::vector<ReplayOutcome>& outcomes) {
  nlohmann::ordered_json tree = {{"journal", directory}, {"outcomes", nlohmann::ordered_json::array()}};
  for (const ReplayOutcome& outcome : outcomes) {
    tree["outcomes"].push_back({{"file", outcome.file},
                                {"shot", outcome.record.fault().shot()},
                                {"kind", outcome.record.fault().kind()},
                                {"resource", outcome.record.resource()},
                                {"confirmed", outcome.confirmed},
                                {"foreign", outcome.foreign},
                                {"evidence", outcome.evidence},
                                {"problem", outcome.problem},
                                {"by_hand", outcome.record.by_hand()}});
  }
  return tree.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

bool AllConfirmed(const std::vector<ReplayOutcome>& outcomes) {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const ReplayOutcome& one) { return one.confirmed; });
}

}  // namespace triodrill
