#include "injectors/storage/nodes.h"

#include <algorithm>

namespace triodrill {

int NodeTable::At(uint64_t id) {
  if (id == kRoot) return root_.get();
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? -1 : found->second.fd.get();
}

uint64_t NodeTable::Enter(UniqueFd fd, const struct stat& seen) {
  const std::lock_guard lock(mutex_);
  const Key key(seen.st_dev, seen.st_ino);
  const auto [known, added] = ids_.try_emplace(key, last_ + 1);
  if (added) nodes_.emplace(++last_, Node{std::move(fd), key, 0});
  ++nodes_.at(known->second).lookups;
  return known->second;
}

void NodeTable::Forget(uint64_t id, uint64_t lookups) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  node.lookups -= std::min(lookups, node.lookups);
  if (node.lookups > 0) return;
  ids_.erase(node.key);
  nodes_.erase(found);
}

uint64_t ListingTable::Add(Listing listing) {
  const std::lock_guard lock(mutex_);
  listings_.emplace(++last_, std::move(listing));
  return last_;
}

Listing& ListingTable::At(uint64_t id) {
  const std::lock_guard lock(mutex_);
  return listings_.at(id);
}

void ListingTable::Remove(uint64_t id) {
  const std::lock_guard lock(mutex_);
  listings_.erase(id);
}

}  // namespace triodrill
