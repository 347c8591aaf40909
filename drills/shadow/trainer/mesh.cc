#include "drills/shadow/trainer/mesh.h"

#include <dirent.h>
#include <gloo/allgather.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/socket.h>

#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
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

Mesh::Mesh(const MeshPlan& plan, Vitals& vitals)
    : plan_(plan), vitals_(vitals), contexts_(std::make_unique<Contexts>()) {}

Mesh::~Mesh() = default;

Result<std::unique_ptr<Mesh>> Mesh::Connect(const MeshPlan& plan, Vitals& vitals,
                                            const std::function<bool()>& given_up) {
  std::unique_ptr<Mesh> mesh(new Mesh(plan, vitals));
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

Status Mesh::AllGather(Group group, const void* in, void* out, size_t bytes) {
  const std::shared_ptr<gloo::Context>& context = ContextOf(group);
  if (context == nullptr) {
    std::memcpy(out, in, bytes);
    return Ok();
  }
  const auto size = static_cast<size_t>(context->size);
  try {
    gloo::AllgatherOptions options(context);
    // The library asks for a pointer to what it only reads.
    options.setInput(static_cast<char*>(const_cast<void*>(in)), bytes);
    options.setOutput(static_cast<char*>(out), bytes * size);
    gloo::allgather(options);
  } catch (const std::exception& error) {
    return absl::UnavailableError(Cat("all-gather: ", error.what()));
  }
  Count(bytes * (size - 1), bytes * (size - 1));
  return Ok();
}

Status Mesh::Broadcast(Group group, int root, void* data, size_t bytes) {
  const std::shared_ptr<gloo::Context>& context = ContextOf(group);
  if (context == nullptr) return Ok();
  try {
    gloo::BroadcastOptions options(context);
    options.setOutput(static_cast<char*>(data), bytes);
    options.setRoot(root);
    gloo::broadcast(options);
  } catch (const std::exception& error) {
    return absl::UnavailableError(Cat("broadcast: ", error.what()));
  }
  const bool is_root = context->rank == root;
  Count(is_root ? bytes : 0, is_root ? 0 : bytes);
  return Ok();
}

void InterruptCollectives() {
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) return;
  const absl::Cleanup close = [directory] { closedir(directory); };
  for (const dirent* entry = readdir(directory); entry != nullptr; entry = readdir(directory)) {
    int fd = -1;
    if (!absl::SimpleAtoi(entry->d_name, &fd)) continue;
    int domain = 0;
    socklen_t length = sizeof domain;
    // Fails on what is no socket, or no longer there.
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0) continue;
    if (domain == AF_INET || domain == AF_INET6) shutdown(fd, SHUT_RDWR);
  }
}

}  // namespace triodrill::shadow::trainer
