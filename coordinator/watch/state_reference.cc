#include "coordinator/watch/state_reference.h"

#include <re2/re2.h>

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

int GroupOf(const RE2& expression, const std::string& name) {
  const auto& groups = expression.NamedCapturingGroups();
  const auto found = groups.find(name);
  return found == groups.end() ? 0 : found->second;
}

}  // namespace

Result<std::vector<v1::StateReference>> ParseReference(const v1::Reference& reference, const std::string& text) {
  const RE2 expression(reference.match(), RE2::Quiet);
  if (!expression.ok()) return absl::InvalidArgumentError(Cat("reference: ", expression.error()));
  const int step_group = GroupOf(expression, "step");
  const int hash_group = GroupOf(expression, "hash");
  const int shard_group = GroupOf(expression, "shard");
  if (step_group == 0 || hash_group == 0) {
    return absl::InvalidArgumentError("reference: its expression needs the groups step and hash");
  }
  std::vector<v1::StateReference> states;
  std::map<std::pair<int64_t, std::string>, std::string> known;
  std::vector<re2::StringPiece> groups(static_cast<size_t>(expression.NumberOfCapturingGroups()) + 1);
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    if (!expression.Match(line, 0, line.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
      continue;
    }
    int64_t step = 0;
    if (!absl::SimpleAtoi(std::string(groups[static_cast<size_t>(step_group)]), &step)) continue;
    v1::StateReference state;
    state.set_step(step);
    if (shard_group > 0) state.set_shard(std::string(groups[static_cast<size_t>(shard_group)]));
    state.set_hash(std::string(groups[static_cast<size_t>(hash_group)]));
    const auto [entry, fresh] = known.emplace(std::pair(step, state.shard()), state.hash());
    if (!fresh && entry->second != state.hash()) {
      return absl::FailedPreconditionError(Cat("reference: step ", step, " has two states: it does not repeat itself"));
    }
    if (fresh) states.push_back(std::move(state));
  }
  if (states.empty()) return absl::NotFoundError("reference: no line of its output tells a state");
  return states;
}

}  // namespace triodrill::watch
