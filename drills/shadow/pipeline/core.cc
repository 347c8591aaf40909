#include "drills/shadow/pipeline/core.h"

#include <algorithm>

#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {

void Machine::Take(const Event& event) {
  tick_ = std::holds_alternative<Tick>(event);
  std::visit([this](const auto& one) { On(one); }, event);
  Detect();
  if (tick_ && s_.stage != Stage::kAssemble && s_.stage != Stage::kGaveUp && s_.stage != Stage::kStopping) {
    TendQuarantine();
    TendStandbys();
  }
  Advance();
}

void Machine::Tell(const Slot& slot, ToTrainer message) {
  actions_.push_back(Order{slot.node, pipeline::Tell{slot, s_.slots[slot].trainer.incarnation, std::move(message)}});
}

const Trainer* Machine::Seen(int rank) const {
  const auto found = s_.slots.find(s_.placement[rank]);
  if (found == s_.slots.end() || found->second.trainer.incarnation == 0) return nullptr;
  return &found->second.trainer;
}

int Machine::RankAt(const Slot& slot) const {
  const auto found = std::find(s_.placement.begin(), s_.placement.end(), slot);
  return found == s_.placement.end() ? -1 : static_cast<int>(found - s_.placement.begin());
}

State Begin(const Config& config, TimePoint now) {
  State state;
  state.since = state.last_tick = state.progress_at = now;
  state.placement.resize(static_cast<size_t>(config.topology.world));
  for (const TopologyNode& node : config.topology.nodes) {
    state.nodes[node.name] = NodeState{};
    for (int i = 0; i < node.slots; ++i) {
      state.slots[Slot{node.name, i}].service = node.spare ? Service::kSpare : Service::kServing;
    }
  }
  return state;
}

Stepped Step(const Config& config, State state, const Event& event, TimePoint now) {
  Stepped stepped{std::move(state), {}};
  Machine(config, stepped.state, stepped.actions, now).Take(event);
  return stepped;
}

std::string FormatLine(const LogLine& line) {
  std::string text = line.event;
  for (const auto& [key, value] : line.values) {
    const bool plain = !value.empty() && value.find_first_of(" \t\n\r\"\\=") == std::string::npos;
    Append(text, " ", key, "=");
    if (plain) {
      text += value;
      continue;
    }
    text += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') text += '\\';
      text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    text += '"';
  }
  return text;
}

}  // namespace triodrill::shadow::pipeline
