// The files that the kernel knows through the overlay, each held open (O_PATH) so that its inode number is not given to
// another meanwhile; and the directories that are being listed. Owned by the server, used by all its threads.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "injectors/os/fd.h"

namespace triodrill {

class NodeTable {
 public:
  explicit NodeTable(UniqueFd root) : root_(std::move(root)) {}

  // The descriptor of a node that the kernel knows; it stays open at least until the kernel forgets it.
  int At(uint64_t id);
  // One look-up more of this file; the kernel's number for it.
  uint64_t Enter(UniqueFd fd, const struct stat& seen);
  void Forget(uint64_t id, uint64_t lookups);

 private:
  static constexpr uint64_t kRoot = 1;  // FUSE_ROOT_ID
  using Key = std::pair<dev_t, ino_t>;
  struct Node {
    UniqueFd fd;
    Key key;
    uint64_t lookups = 0;
  };

  const UniqueFd root_;
  std::mutex mutex_;
  uint64_t last_ = kRoot;
  std::map<Key, uint64_t> ids_;
  std::unordered_map<uint64_t, Node> nodes_;
};

// A directory's stream stands where the kernel asked for last.
struct Listing {
  std::unique_ptr<DIR, int (*)(DIR*)> stream;
  off_t at = 0;
  const dirent* pending = nullptr;  // did not fit into the last answer
};

class ListingTable {
 public:
  uint64_t Add(Listing listing);
  // It stays where it is until it is removed.
  Listing& At(uint64_t id);
  void Remove(uint64_t id);

 private:
  std::mutex mutex_;
  uint64_t last_ = 0;
  std::unordered_map<uint64_t, Listing> listings_;
};

}  // namespace triodrill
