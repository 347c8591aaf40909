#include "coordinator/watch/slurm_states.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coordinator/watch/bounded_json.h"
#include "coordinator/watch/host_list.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr size_t kMostEntries = 100'000;

Status Refused(std::string_view what) { return absl::InvalidArgumentError(Cat("read Slurm's answer: ", what)); }

Result<std::string> TextOf(const nlohmann::json& entry, const char* name) {
  const nlohmann::json* text = FindText(entry, name);
  if (text == nullptr) return Refused(Cat("`", name, "` is missing, or no text"));
  return text->get<std::string>();
}

// Null is written for a text that there is none of.
std::string TextIfAny(const nlohmann::json& entry, const char* name) {
  const nlohmann::json* text = FindText(entry, name);
  return text == nullptr ? "" : text->get<std::string>();
}

Result<int64_t> NumberOf(const nlohmann::json& entry, const char* name) {
  const auto found = entry.is_object() ? entry.find(name) : entry.end();
  if (found == entry.end() || !found->is_number_integer() || *found < 0) {
    return Refused(Cat("`", name, "` is missing, or no number"));
  }
  return found->get<int64_t>();
}

// The list `name` of an answer without errors.
Result<nlohmann::json> ListOf(std::string_view body, const char* name) {
  TRIODRILL_ASSIGN_OR_RETURN(const nlohmann::json root, ParseBounded(body));
  // With no controller there the commands end with 0, an error and an empty list.
  const nlohmann::json* errors = FindList(root, "errors");
  if (errors == nullptr) return Refused("it does not say whether there were errors");
  if (!errors->empty()) {
    return Refused(
        Cat("it comes with errors: ", errors->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  }
  const nlohmann::json* list = FindList(root, name);
  if (list == nullptr) return Refused(Cat("it has no list `", name, "`, as that of Slurm 22.05 has"));
  if (list->size() > kMostEntries) return Refused(Cat("too many ", name));
  return *list;
}

// "mixed" and ["DRAIN"] -> "MIXED+DRAIN"
Result<std::string> StateOf(const nlohmann::json& node) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string base, TextOf(node, "state"));
  const nlohmann::json* flags = FindList(node, "state_flags");
  if (flags == nullptr) return Refused("`state_flags` is missing, or no list");
  std::set<std::string> sorted;
  for (const nlohmann::json& flag : *flags) {
    if (!flag.is_string()) return Refused("a state's flag is no text");
    sorted.insert(absl::AsciiStrToUpper(flag.get<std::string>()));
  }
  std::string state = absl::AsciiStrToUpper(base);
  for (const std::string& flag : sorted) Append(state, "+", flag);
  return state;
}

Result<bool> IsOf(const nlohmann::json& node, const std::string& partition) {
  const nlohmann::json* partitions = FindList(node, "partitions");
  if (partitions == nullptr) return Refused("`partitions` is missing, or no list");
  return std::any_of(partitions->begin(), partitions->end(),
                     [&](const nlohmann::json& one) { return one.is_string() && one == partition; });
}

}  // namespace

Result<std::vector<SlurmNode>> ParseSlurmNodes(std::string_view body, const std::string& partition) {
  TRIODRILL_ASSIGN_OR_RETURN(const nlohmann::json list, ListOf(body, "nodes"));
  std::vector<SlurmNode> nodes;
  for (const nlohmann::json& entry : list) {
    TRIODRILL_ASSIGN_OR_RETURN(const bool ours, IsOf(entry, partition));
    if (!ours) continue;
    SlurmNode node;
    TRIODRILL_ASSIGN_OR_RETURN(node.name, TextOf(entry, "name"));
    TRIODRILL_ASSIGN_OR_RETURN(node.state, StateOf(entry));
    node.reason = TextIfAny(entry, "reason");
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<std::vector<SlurmJob>> ParseSlurmJobs(std::string_view body, const std::string& partition) {
  TRIODRILL_ASSIGN_OR_RETURN(const nlohmann::json list, ListOf(body, "jobs"));
  std::vector<SlurmJob> jobs;
  for (const nlohmann::json& entry : list) {
    // A job that waits may name several partitions.
    TRIODRILL_ASSIGN_OR_RETURN(const std::string partitions, TextOf(entry, "partition"));
    const std::vector<std::string> names = absl::StrSplit(partitions, ',');
    if (std::find(names.begin(), names.end(), partition) == names.end()) continue;
    SlurmJob job;
    TRIODRILL_ASSIGN_OR_RETURN(job.id, NumberOf(entry, "job_id"));
    TRIODRILL_ASSIGN_OR_RETURN(job.name, TextOf(entry, "name"));
    TRIODRILL_ASSIGN_OR_RETURN(job.state, TextOf(entry, "job_state"));
    TRIODRILL_ASSIGN_OR_RETURN(job.restarts, NumberOf(entry, "restart_cnt"));
    job.reason = TextIfAny(entry, "state_reason");
    job.nodes_text = TextIfAny(entry, "nodes");
    TRIODRILL_ASSIGN_OR_RETURN(job.nodes, ExpandHosts(job.nodes_text));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<std::string> OutOfService(const std::vector<SlurmNode>& nodes) {
  static const auto* const working = new std::set<std::string>{"IDLE", "MIXED", "ALLOCATED"};
  static const auto* const without_work = new std::set<std::string>{
      "DRAIN", "FAIL", "NOT_RESPONDING", "MAINTENANCE", "POWERED_DOWN", "POWER_DOWN", "POWERING_DOWN", "REBOOT_ISSUED"};
  std::vector<std::string> out;
  for (const SlurmNode& node : nodes) {
    const std::vector<std::string> parts = absl::StrSplit(node.state, '+');
    const bool in_service = working->contains(parts.front()) &&
                            std::none_of(parts.begin() + 1, parts.end(),
                                         [](const std::string& flag) { return without_work->contains(flag); });
    if (!in_service) out.push_back(node.name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace triodrill::watch
