// What the operations of the pass-through have in common; for its own files only.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <functional>
#include <string>
#include <utility>

#include "injectors/storage/gate.h"
#include "injectors/storage/nodes.h"

namespace triodrill {

struct PassThrough {
  NodeTable nodes;
  ListingTable listings;
  Gate& gate;
  UniqueFd own_files;  // /proc/self/fd: an O_PATH descriptor is opened, changed and linked by its name there
  std::function<void()> started;

  int At(fuse_ino_t id) { return nodes.At(id); }
};

inline PassThrough& Of(fuse_req_t request) { return *static_cast<PassThrough*>(fuse_req_userdata(request)); }

// The name of a node's descriptor in own_files.
inline std::string NameOf(PassThrough& overlay, fuse_ino_t id) { return std::to_string(overlay.At(id)); }

// 0, or errno of a call that failed.
inline void Answer(fuse_req_t request, int result) { fuse_reply_err(request, result < 0 ? errno : 0); }

// Looks `name` up: 0 with `entry` filled in, and one look-up more owed by the kernel; else an error number.
int LookUp(PassThrough& overlay, fuse_ino_t parent, const char* name, fuse_entry_param* entry);

// While it lives this thread makes files as whoever asked.
class Maker {
 public:
  explicit Maker(fuse_req_t request);
  ~Maker();
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

 private:
  int user_;
  int group_;
};

void AddNameOperations(fuse_lowlevel_ops* operations);
void AddFileOperations(fuse_lowlevel_ops* operations);

}  // namespace triodrill
