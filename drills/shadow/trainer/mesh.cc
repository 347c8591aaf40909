#include "drills/shadow/trainer/mesh.h"

#include <gloo/allgather.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstring>

#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

constexpr std::chrono::seconds kCollectiveTimeout{30};
constexpr std::chrono::milliseconds kAskAgain{100};

// gloo's store of files, whose waits end when the join is given up.
class GivingUpStore final : public gloo::rendezvous::Store {
 public:
  GivingUpStore(const std::string& directory, const std::function<bool()>& given_up)
      : files_(directory), given_up_(given_up) {}

  void set(const std::string& key, const std::vector<char>& data) override { files_.set(key, data); }
  std::vector<char> get(const std::string& key) override {
    wait({key});
    return files_.get(key);
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, kDefaultTimeout); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    std::chrono::milliseconds waited{0};
    for (;;) {
      if (given_up_()) throw gloo::IoException("the join was given up");
      try {
        files_.wait(keys, kAskAgain);
        return;
      } catch (const gloo::IoException&) {
        waited += kAskAgain;
        if (waited >= timeout) throw;
      }
    }
  }

 private:
  gloo::rendezvous::FileStore files_;
  const std::function<bool()>& given_up_;
};

std::string Named(std::string_view kind, int number) { return Cat(kind, "-", number); }

}  // namespace

struct Mesh::Contexts {
  // Destroyed last: the contexts' pairs are registered with it.
  std::shared_ptr<gloo::transport::Device> device;
  std::shared_ptr<gloo::Context> world;
  std::shared_ptr<gloo::Context> replica;
  std::shared_ptr<gloo::Context> shard;
};

Mesh::Mesh(const MeshPlan& plan, MeshGuard& guard, Vitals& vitals)
    : plan_(plan), guard_(guard), vitals_(vitals), contexts_(std::make_unique<Contexts>()) {}

Mesh::~Mesh() { guard_.Forget(); }

Result<std::unique_ptr<Mesh>> Mesh::Connect(const MeshPlan& plan, MeshGuard& guard, Vitals& vitals,
                                            const std::function<bool()>& given_up) {
  std::unique_ptr<Mesh> mesh(new Mesh(plan, guard, vitals));
  try {
    GivingUpStore store(plan.store, given_up);
    gloo::transport::tcp::attr attributes;
    attributes.hostname = plan.address;
    Contexts& made = *mesh->contexts_;
    made.device = gloo::transport::tcp::CreateDevice(attributes);
    const auto connect = [&](Group group, const std::string& name) -> std::shared_ptr<gloo::Context> {
      if (mesh->SizeOf(group) == 1) return nullptr;  // alone: there is nobody to talk to
      gloo::rendezvous::PrefixStore named(name, store);
      auto context = std::make_shared<gloo::rendezvous::Context>(mesh->RankIn(group), mesh->SizeOf(group));
      context->setTimeout(kCollectiveTimeout);
      context->connectFullMesh(named, made.device);
      return context;
    };
    made.world = connect(Group::kWorld, "world");
    made.replica = connect(Group::kReplica, Named("replica", plan.layout.Replica(plan.rank)));
    made.shard = connect(Group::kShard, Named("shard", plan.layout.Shard(plan.rank)));
  } catch (const std::exception& error) {
    return absl::UnavailableError(Cat("connect rank ", plan.rank, " through ", plan.store, ": ", error.what()));
  }
  guard.Connected();
  return mesh;
}

int Mesh::SizeOf(Group group) const {
  if (group == Group::kWorld) return plan_.layout.world;
  return group == Group::kReplica ? plan_.layout.tensor_parallel : plan_.layout.Replicas();
}

int Mesh::RankIn(Group group) const {
  if (group == Group::kWorld) return plan_.rank;
  return group == Group::kReplica ? plan_.layout.Shard(plan_.rank) : plan_.layout.Replica(plan_.rank);
}

const std::shared_ptr<gloo::Context>& Mesh::ContextOf(Group group) const {
  if (group == Group::kWorld) return contexts_->world;
  return group == Group::kReplica ? contexts_->replica : contexts_->shard;
}

void Mesh::Count(size_t sent, size_t received) {
  vitals_.sent_bytes += sent;
  vitals_.received_bytes += received;
}

// Runs a collective whose buffers the guard knows meanwhile.
template <typename Options>
Status Mesh::Run(std::string_view name, Options& options, void (*collective)(Options&),
                 std::vector<gloo::transport::UnboundBuffer*> buffers) {
  Status status;
  guard_.Enter(std::move(buffers));
  try {
    collective(options);
  } catch (const std::exception& error) {
    status = absl::UnavailableError(Cat(name, ": ", error.what()));
  }
  const bool whole = guard_.Leave();
  if (status.ok() && !whole) return absl::UnavailableError(Cat(name, ": a connection was lost"));
  return status;
}

Status Mesh::AllGather(Group group, const void* in, void* out, size_t bytes) {
  const std::shared_ptr<gloo::Context>& context = ContextOf(group);
  if (context == nullptr) {
    std::memcpy(out, in, bytes);
    return Ok();
  }
  const auto size = static_cast<size_t>(context->size);
  // The library asks for a pointer to what it only reads.
  auto from = context->createUnboundBuffer(const_cast<void*>(in), bytes);
  auto to = context->createUnboundBuffer(out, bytes * size);
  const std::vector<gloo::transport::UnboundBuffer*> buffers = {from.get(), to.get()};
  gloo::AllgatherOptions options(context);
  options.setInput<char>(std::move(from));
  options.setOutput<char>(std::move(to));
  TRIODRILL_RETURN_IF_ERROR(Run("all-gather", options, &gloo::allgather, buffers));
  Count(bytes * (size - 1), bytes * (size - 1));
  return Ok();
}

Status Mesh::ShareRecords(const void* in, void* out, size_t bytes) {
  const std::shared_ptr<gloo::Context>& context = ContextOf(Group::kWorld);
  if (context == nullptr) {
    std::memcpy(out, in, bytes);
    return Ok();
  }
  const size_t all = bytes * static_cast<size_t>(context->size);
  const bool root = context->rank == 0;
  auto from = context->createUnboundBuffer(const_cast<void*>(in), bytes);
  std::vector<gloo::transport::UnboundBuffer*> buffers = {from.get()};
  gloo::GatherOptions options(context);
  options.setInput<char>(std::move(from));
  options.setRoot(0);
  if (root) {
    auto to = context->createUnboundBuffer(out, all);
    buffers.push_back(to.get());
    options.setOutput<char>(std::move(to));
  }
  TRIODRILL_RETURN_IF_ERROR(Run("gather", options, &gloo::gather, std::move(buffers)));
  Count(root ? 0 : bytes, root ? all - bytes : 0);
  return Broadcast(Group::kWorld, 0, out, all);
}

Status Mesh::Broadcast(Group group, int root, void* data, size_t bytes) {
  const std::shared_ptr<gloo::Context>& context = ContextOf(group);
  if (context == nullptr) return Ok();
  auto buffer = context->createUnboundBuffer(data, bytes);
  const std::vector<gloo::transport::UnboundBuffer*> buffers = {buffer.get()};
  gloo::BroadcastOptions options(context);
  options.setOutput<char>(std::move(buffer));
  options.setRoot(root);
  TRIODRILL_RETURN_IF_ERROR(Run("broadcast", options, &gloo::broadcast, buffers));
  const bool is_root = context->rank == root;
  Count(is_root ? bytes : 0, is_root ? 0 : bytes);
  return Ok();
}

}  // namespace triodrill::shadow::trainer
