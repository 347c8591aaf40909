#include "reports/measure/topology.h"

#include <algorithm>

#include "triodrill/slot.h"

namespace triodrill {
namespace {

bool Holds(const SlotSet& domain, const SlotSet& slots) {
  return std::includes(domain.begin(), domain.end(), slots.begin(), slots.end());
}

}  // namespace

Topology::Topology(const v1::PartitionSpec& partition) {
  for (const v1::Node& node : partition.nodes()) {
    Domain domain{.level = v1::DOMAIN_NODE, .slots = {}};
    for (int i = 0; i < std::max(1, node.slots()); ++i) domain.slots.insert(Slot{node.name(), i}.Name());
    nodes_.push_back(std::move(domain));
    node_names_.push_back(node.name());
  }
  for (const v1::Group& group : partition.topology()) {
    Domain domain{.level = group.level(), .slots = {}};
    for (const std::string& member : group.members()) {
      if (ParseSlot(member)) {
        domain.slots.insert(member);
      } else {
        domain.slots.merge(SlotsOf(member));
      }
    }
    groups_.push_back(std::move(domain));
  }
  std::stable_sort(groups_.begin(), groups_.end(), [](const Domain& a, const Domain& b) { return a.level < b.level; });
}

SlotSet Topology::SlotsOf(std::string_view node) const {
  for (size_t i = 0; i < node_names_.size(); ++i) {
    if (node_names_[i] == node) return nodes_[i].slots;
  }
  return {Slot{std::string(node), 0}.Name()};
}

bool Topology::Means(std::string_view named, std::string_view slot) {
  if (named.empty()) return false;
  return named == slot || (slot.starts_with(named) && slot.substr(named.size()).starts_with('/'));
}

v1::Domain Topology::LevelOf(const SlotSet& slots, const SlotSet& job) const {
  if (slots.empty()) return v1::DOMAIN_NONE;
  if (slots.size() > 1 && slots == job) return v1::DOMAIN_JOB;
  for (const Domain& node : nodes_) {
    if (!Holds(node.slots, slots)) continue;
    return slots.size() == 1 && node.slots.size() > 1 ? v1::DOMAIN_GPU : v1::DOMAIN_NODE;
  }
  for (const Domain& group : groups_) {
    if (Holds(group.slots, slots)) return group.level;
  }
  return Holds(job, slots) ? v1::DOMAIN_JOB : v1::DOMAIN_PARTITION;
}

}  // namespace triodrill
