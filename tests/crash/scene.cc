#include "tests/crash/scene.h"

#include <net/if.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/str_join.h"
#include "injectors/catalog.h"
#include "injectors/cpu/leak.h"
#include "injectors/cpu/stutter.h"
#include "injectors/cpu/stutter_order.h"
#include "injectors/environment/drift.h"
#include "injectors/gpu/kernel_log.h"
#include "injectors/gpu/nvml.h"
#include "injectors/link/flap.h"
#include "injectors/link/link_prior.h"
#include "injectors/link/netlink.h"
#include "injectors/link/nftables.h"
#include "injectors/link/partition_table.h"
#include "injectors/node/flapping.h"
#include "injectors/node/lost.h"
#include "injectors/os/cgroup.h"
#include "injectors/os/file.h"
#include "injectors/process/crash_loop.h"
#include "injectors/process/helper_order.h"
#include "tests/crash/gpu_scene.h"
#include "tests/crash/process_scene.h"
#include "tests/crash/storage_scene.h"
#include "tests/unit/injectors/net.h"
#include "tests/unit/injectors/traffic.h"
#include "tests/unit/shadow_gpu/gpu_dir.h"
#include "triodrill/text.h"

namespace triodrill::testing {
namespace {

class ThrottleScene final : public ProcessScene {
 public:
  ThrottleScene() : ProcessScene("cpu.throttle") {}
  Status Raise() override {
    const v1::Capability capability = FindInjector(kind_)->probe();
    if (!capability.possible()) return absl::UnavailableError(capability.reason());
    SweepAway();
    TRIODRILL_RETURN_IF_ERROR(ProcessScene::Raise());
    TRIODRILL_ASSIGN_OR_RETURN(const OwnCgroup own, FindCgroup(child_->pid(), "cpu"));
    TRIODRILL_ASSIGN_OR_RETURN(const v1::UndoRecord record, Make()->Prepare(Fault()));
    before_ = own.directory;
    made_ = record.cgroup().made_directory();
    return Cat("/triodrill-", fault_.run_id(), "-", fault_.shot()) == made_.substr(made_.rfind('/'))
               ? Ok()
               : absl::InternalError(Cat("this test would look for another cgroup than ", made_));
  }
  ~ThrottleScene() override { SweepAway(); }
  std::string Damage() override {
    std::string damage = ProcessScene::Damage();
    const auto now = FindCgroup(child_->pid(), "cpu");
    if (!now.ok()) {
      damage += std::string(now.status().message());
    } else if (now->directory != before_) {
      damage += "the target is in " + now->directory;
    }
    if (std::filesystem::exists(made_)) damage += "; " + made_ + " is left";
    return damage;
  }

 private:
  // For what a mutant leaves: the cgroup goes once its process is dead.
  void SweepAway() {
    child_.reset();
    if (!made_.empty()) Eventually([&] { return ::rmdir(made_.c_str()) == 0 || errno == ENOENT; });
  }
  std::string before_;
  std::string made_;
};

class StutterScene final : public ProcessScene {
 public:
  explicit StutterScene(std::string_view kind) : ProcessScene(kind) {}
  std::unique_ptr<Injector> Make() const override {
    const std::string program = TRIODRILL_BIN_DIR "/triodrill-stutter";
    return kind_ == "cpu.stutter" ? MakeCpuStutter(program) : MakeEnvironmentDrift({program, ""});
  }
  std::string Damage() override {
    // Its program ends by itself when the process that asked for it dies; that takes it a moment.
    const std::string aim = Cat("--target=", child_->pid(), ":");
    if (!Eventually([&] { return !HelperRuns(aim); })) return "triodrill-stutter still runs";
    return ProcessScene::Damage();
  }
};

class CrashLoopScene final : public ProcessScene {
 public:
  CrashLoopScene() : ProcessScene("process.crash_loop") {}
  Status Raise() override {
    child_.reset();
    child_.emplace(Child::Named("triodrill-test-job"));
    fault_ = Aim(kind_, child_->identity());
    return Ok();
  }
  std::unique_ptr<Injector> Make() const override {
    return MakeProcessCrashLoop(TRIODRILL_BIN_DIR "/triodrill-crashloop");
  }
  std::string Damage() override {
    const std::string aim = Cat("--target=", child_->pid(), ":");
    return Eventually([&] { return !HelperRuns(aim); }) ? "" : "triodrill-crashloop still runs";
  }
};

// What is left of it would be its program, whose memory ends with it.
class LeakScene final : public ProcessScene {
 public:
  LeakScene() : ProcessScene("cpu.leak") {}
  Status Raise() override {
    TRIODRILL_RETURN_IF_ERROR(ProcessScene::Raise());
    TRIODRILL_ASSIGN_OR_RETURN(const v1::UndoRecord record, Make()->Prepare(Fault()));
    token_ = record.leak().token();
    return Ok();
  }
  std::unique_ptr<Injector> Make() const override { return MakeCpuLeak(TRIODRILL_BIN_DIR "/triodrill-leak"); }
  std::string Damage() override {
    if (!Eventually([&] { return !HelperRuns(TokenArgument(token_)); })) return "triodrill-leak still runs";
    return ProcessScene::Damage();
  }

 private:
  std::string token_;
};

// The target dies, and what is left is its cgroup.
class OomScene final : public ProcessScene {
 public:
  OomScene() : ProcessScene("process.oom") {}
  Status Raise() override {
    const v1::Capability capability = FindInjector(kind_)->probe();
    if (!capability.possible()) return absl::UnavailableError(capability.reason());
    SweepAway();
    child_.emplace(Child::Growing());
    fault_ = Aim(kind_, child_->identity());
    TRIODRILL_ASSIGN_OR_RETURN(const v1::UndoRecord record, Make()->Prepare(Fault()));
    made_ = record.cgroup().made_directory();
    return Ok();
  }
  ~OomScene() override { SweepAway(); }
  std::string Damage() override { return std::filesystem::exists(made_) ? made_ + " is left" : ""; }

 private:
  void SweepAway() {
    child_.reset();
    if (!made_.empty()) Eventually([&] { return ::rmdir(made_.c_str()) == 0 || errno == ENOENT; });
  }
  std::string made_;
};

class ExitAgentScene final : public ProcessScene {
 public:
  ExitAgentScene() : ProcessScene("process.exit_agent") {}
  Status Raise() override {
    launched_.reset();
    launched_.emplace("triodrill-test-job");
    fault_ = Aim(kind_, launched_->rank());
    return Ok();
  }
  std::string Damage() override { return ""; }  // dead or alive: there is nothing to give back

 private:
  std::optional<LaunchedChild> launched_;
};

// Its child computes on a shadow GPU, whose state is looked at without the library.
class GpuScene final : public ProcessScene {
 public:
  explicit GpuScene(std::string_view kind) : ProcessScene(kind) {}
  Status Raise() override {
    child_.reset();
    gpus_.emplace();
    // Each process that dies over it loads the library by this link, and so finds this state.
    const std::string link = gpus_->dir() + "/libnvidia-ml.so.1";
    std::filesystem::create_symlink(TRIODRILL_SHADOW_NVML, link);
    SetNvmlLibrary(link);
    SetKernelLog(gpus_->dir() + "/kmsg");
    if (!std::ofstream(KernelLog())) return absl::InternalError("no file for the kernel log");
    child_.emplace([file = gpus_->file()] {
      const auto held = shadow::gpu::HeldGpu::Open(file, 1);
      while (held.ok()) ::pause();
    });
    fault_ = Aim(kind_, child_->identity());
    const auto state = shadow::gpu::MappedState::Open(gpus_->file(), true);
    TRIODRILL_RETURN_IF_ERROR(state.status());
    (*state)->gpus[1].limit_mw = kLimit;  // not the default: the prior one is what is given back
    return Eventually([&] { return (*state)->gpus[1].processes[0] != 0; })
               ? Ok()
               : absl::InternalError("the child does not come to hold its GPU");
  }
  std::unique_ptr<Injector> Make() const override {
    if (kind_ != "environment.drift") return ProcessScene::Make();
    return MakeEnvironmentDrift({TRIODRILL_BIN_DIR "/triodrill-stutter", TRIODRILL_BIN_DIR "/triodrill-clockwave"});
  }
  std::string Damage() override {
    // The helper of a drift resets the clocks by itself when the process that asked for it dies.
    if (!Eventually([&] { return !HelperRuns(Cat("--library=", gpus_->dir())); })) return "triodrill-clockwave runs";
    const auto state = shadow::gpu::MappedState::Open(gpus_->file(), false);
    if (!state.ok()) return std::string(state.status().message());
    const shadow::gpu::Gpu& gpu = (*state)->gpus[1];
    std::string damage = gpu.locked_sm == 0 ? "" : "its clocks are locked";
    if (gpu.limit_mw != kLimit) Append(damage, "; its power limit is ", gpu.limit_mw.load(), " mW");
    if (gpu.lost != 0) Append(damage, "; it is lost");
    return damage;
  }

 private:
  static constexpr uint32_t kLimit = 680'000;
  std::optional<shadow::gpu::GpuDir> gpus_;
};

class LinkScene : public Scene {
 public:
  explicit LinkScene(std::string_view kind) : kind_(kind) {}
  Status Raise() override {
    static const Status entered = EnterOwnNetwork();
    if (!entered.ok()) return absl::UnavailableError(entered.message());
    if (up_ && Damage().empty()) return Ok();  // as whole as a new one, and sooner
    static_cast<void>(DeleteLink("trio0"));
    if (const Status made = MakePair("trio0", "trio1"); !made.ok()) return absl::UnavailableError(made.message());
    TRIODRILL_RETURN_IF_ERROR(AddAddress("trio0", "10.77.0.12/24"));
    TRIODRILL_RETURN_IF_ERROR(AddAddress("trio0", "fd77::12/64"));
    TRIODRILL_RETURN_IF_ERROR(AddRoute("trio0", {"10.88.0.0/16", "10.77.0.1"}));
    TRIODRILL_RETURN_IF_ERROR(AddRoute("trio0", {"10.89.0.0/16", "", 100}));
    TRIODRILL_RETURN_IF_ERROR(AddNeighbour("trio0", "10.77.0.99", "02:00:00:00:00:99"));
    TRIODRILL_ASSIGN_OR_RETURN(identity_, IdentifyLink("trio0"));
    // IFF_RUNNING and the kernel's own link-local address come a little after the carrier.
    up_ = Eventually([&] {
      const auto prior = PriorOf("trio0");
      if (prior.ok()) before_ = *prior;
      return prior.ok() && prior->addresses_size() == 3 && (prior->flags() & IFF_RUNNING) != 0;
    });
    return up_ ? Ok() : absl::InternalError("the link-local address of trio0 never came");
  }
  ~LinkScene() override { static_cast<void>(DeleteLink("trio0")); }
  v1::AimedFault Fault() const override { return Aim(kind_, identity_); }
  std::unique_ptr<Injector> Make() const override {
    return kind_ == "link.flap" ? MakeLinkFlap(TRIODRILL_BIN_DIR "/triodrill-flap") : FindInjector(kind_)->make();
  }
  std::string Damage() override {
    if (!Eventually([&] { return !HelperRuns(FlapAim()); })) return "triodrill-flap still runs";
    const auto now = PriorOf("trio0");
    if (!now.ok()) return std::string(now.status().message());
    std::string damage = now->flags() == before_.flags() ? "" : Cat("flags ", now->flags(), ", not ", before_.flags());
    return damage + absl::StrJoin(MissingFrom(before_, *now), ", ");
  }

 private:
  std::string FlapAim() const { return Cat("--link=", identity_.net_namespace_inode(), "/"); }

  const std::string kind_;
  bool up_ = false;
  v1::LinkIdentity identity_;
  v1::LinkPrior before_;
};

// A pair of links, both of this network, and one process of the job.
class NodeScene final : public LinkScene {
 public:
  explicit NodeScene(std::string_view kind) : LinkScene(kind), kind_(kind) {}
  Status Raise() override {
    child_.reset();
    TRIODRILL_RETURN_IF_ERROR(LinkScene::Raise());
    TRIODRILL_ASSIGN_OR_RETURN(peer_before_, PriorOf("trio1"));
    child_.emplace(Child::Named(NodeJobName()));
    fault_ = Aim(kind_, child_->identity());
    return Ok();
  }
  v1::AimedFault Fault() const override { return fault_; }
  std::unique_ptr<Injector> Make() const override {
    return kind_ == "node.flapping" ? MakeNodeFlapping(TRIODRILL_BIN_DIR "/triodrill-flap") : MakeNodeLost();
  }
  std::string Damage() override {
    std::string damage = LinkScene::Damage();
    const auto peer = PriorOf("trio1");
    if (!peer.ok()) return std::string(peer.status().message());
    if (peer->flags() != peer_before_.flags()) Append(damage, "; trio1 has flags ", peer->flags());
    Append(damage, absl::StrJoin(MissingFrom(peer_before_, *peer), ", "));
    if (!child_.has_value() || kind_ == "node.lost") return damage;  // dead or alive: it cannot be given back
    if (child_->State() == 'T' || child_->State() == 'Z') damage += "; the job is stopped or dead";
    return damage;
  }

 private:
  const std::string kind_;
  std::optional<Child> child_;
  v1::LinkPrior peer_before_;
  v1::AimedFault fault_;
};

// The faults that leave the link up: what stands in the way of packets is compared, too.
class ShapedLinkScene final : public LinkScene {
 public:
  explicit ShapedLinkScene(std::string_view kind) : LinkScene(kind), kind_(kind) {}
  Status Raise() override {
    TRIODRILL_RETURN_IF_ERROR(LinkScene::Raise());
    const v1::Capability capability = FindInjector(kind_)->probe();
    if (!capability.possible()) return absl::UnavailableError(capability.reason());
    // What a mutant of the crash before left; the interface itself is whole.
    static_cast<void>(Nft("flush ruleset"));
    static_cast<void>(DeleteBlackholeRoute("10.77.0.10/32"));
    TRIODRILL_RETURN_IF_ERROR(SetTbf("trio0", 0x00050000, 3'000'000, 20'000, 77'777));
    before_ = RootQdisc("trio0");
    fault_ = LinkScene::Fault();
    return Ok();
  }
  v1::AimedFault Fault() const override { return fault_; }
  std::string Damage() override {
    std::string damage = LinkScene::Damage();
    if (before_.empty()) return damage;
    const std::string now = RootQdisc("trio0");
    if (now != before_) Append(damage, "; the root qdisc is ", now, ", not ", before_);
    if (!RoutesTo("10.77.0.10").empty()) Append(damage, "; a route to 10.77.0.10 is left");
    if (!ListNftable(PartitionTableName(Fault())).value_or("?").empty()) Append(damage, "; an nftables table is left");
    return damage;
  }

 private:
  const std::string kind_;
  std::string before_;
  v1::AimedFault fault_;  // the same in every process that dies over it: the table has its name of it
};

}  // namespace

std::unique_ptr<Scene> MakeScene(std::string_view kind) {
  if (kind == "storage.full" || kind == "storage.slow") return MakeCoveredScene(kind);
  if (std::unique_ptr<Scene> of_a_job = MakeJobScene(kind)) return of_a_job;
  if (kind == "cpu.throttle") return std::make_unique<ThrottleScene>();
  if (kind == "cpu.stutter" || kind == "environment.drift") return std::make_unique<StutterScene>(kind);
  if (kind == "link.down" || kind == "link.flap") return std::make_unique<LinkScene>(kind);
  if (kind.starts_with("node.")) return std::make_unique<NodeScene>(kind);
  if (kind.starts_with("link.")) return std::make_unique<ShapedLinkScene>(kind);
  if (kind == "process.crash_loop") return std::make_unique<CrashLoopScene>();
  if (kind == kDriftOfAGpu) return std::make_unique<GpuScene>("environment.drift");
  if (kind == "process.oom") return std::make_unique<OomScene>();
  if (kind == "process.exit_agent") return std::make_unique<ExitAgentScene>();
  if (kind == "cpu.leak") return std::make_unique<LeakScene>();
  if (std::unique_ptr<Scene> of_a_job = MakeGpuJobScene(kind)) return of_a_job;
  if (kind.starts_with("gpu.")) return std::make_unique<GpuScene>(kind);
  return std::make_unique<ProcessScene>(kind);
}

}  // namespace triodrill::testing
