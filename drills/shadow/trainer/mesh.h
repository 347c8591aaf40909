// The collectives of one epoch: gloo over TCP, one context for the world, one for the replica (the tensor-parallel
// ranks), one for the shard (the data-parallel ranks). Made, used and destroyed by the training thread. A crash leaves
// files in the rendezvous directory, which no later epoch uses.
//
// Nothing here is interrupted from inside: another thread calls InterruptCollectives(), and whatever waits, waits no
// more.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drills/shadow/trainer/mesh_guard.h"
#include "drills/shadow/trainer/model.h"
#include "drills/shadow/trainer/outbox.h"
#include "triodrill/status.h"

namespace gloo {
class Context;
}

namespace triodrill::shadow::trainer {

enum class Group { kWorld, kReplica, kShard };

struct MeshPlan {
  Layout layout;
  int rank = 0;
  std::string address;  // to bind to
  std::string store;    // directory of the rendezvous, fresh for each epoch
};

class Mesh {
 public:
  // Waits for all the others. `given_up` is asked while it waits for their addresses. Unavailable: gloo's own words.
  static Result<std::unique_ptr<Mesh>> Connect(const MeshPlan& plan, MeshGuard& guard, Vitals& vitals,
                                               const std::function<bool()>& given_up);
  ~Mesh();

  // Every rank's `bytes` at `in`, in the order of the group's ranks, to `out`.
  Status AllGather(Group group, const void* in, void* out, size_t bytes);
  // The same for the world, for records of a few bytes: a gather and a broadcast, which among eight ranks are 14
  // messages where the all-gather's ring passes 112. Where all ranks share two processors the messages are what a step
  // costs.
  Status ShareRecords(const void* in, void* out, size_t bytes);
  // `bytes` at `data` of the group's rank `root` to all of the group.
  Status Broadcast(Group group, int root, void* data, size_t bytes);

  int SizeOf(Group group) const;
  int RankIn(Group group) const;

 private:
  struct Contexts;
  Mesh(const MeshPlan& plan, MeshGuard& guard, Vitals& vitals);
  const std::shared_ptr<gloo::Context>& ContextOf(Group group) const;
  template <typename Options>
  Status Run(std::string_view name, Options& options, void (*collective)(Options&),
             std::vector<gloo::transport::UnboundBuffer*> buffers);
  void Count(size_t sent, size_t received);

  const MeshPlan plan_;
  MeshGuard& guard_;
  Vitals& vitals_;
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace triodrill::shadow::trainer
