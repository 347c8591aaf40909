#include "tests/crash/gpu_scene.h"

#include <optional>
#include <string>

#include "injectors/gpu/burn.h"
#include "injectors/gpu/dcgm_field.h"
#include "injectors/gpu/hang.h"
#include "injectors/os/clock.h"
#include "injectors/tensor/workload_page.h"
#include "tests/crash/process_scene.h"
#include "tests/unit/injectors/dcgm_dir.h"
#include "tests/unit/injectors/gpu_training.h"
#include "tests/unit/injectors/shadow_gpu.h"
#include "triodrill/text.h"

namespace triodrill::testing {
namespace {

class BurnScene final : public ProcessScene {
 public:
  BurnScene() : ProcessScene("gpu.burn") {}
  Status Raise() override {
    child_.reset();
    gpus_.emplace();
    child_.emplace(ComputingOnGpu(gpus_->file()));
    fault_ = Aim(kind_, child_->identity());
    return gpus_->Held() ? Ok() : absl::InternalError("the child does not come to hold its GPU");
  }
  std::unique_ptr<Injector> Make() const override { return MakeGpuBurn(TRIODRILL_BIN_DIR "/triodrill-burn"); }
  // What it took is taken for good; that nothing takes any more is what is owed.
  std::string Damage() override {
    if (!Eventually([&] { return !HelperRuns(Cat("--library=", gpus_->dir())); })) return "triodrill-burn still runs";
    return ProcessScene::Damage();
  }

 private:
  std::optional<ShadowGpus> gpus_;
};

class HangScene final : public Scene {
 public:
  Status Raise() override {
    job_.reset();
    gpus_.emplace();
    job_.emplace(gpus_->cuda());
    fault_ = Aim("gpu.hang", job_->child().identity());
    return job_->steps() > 0 ? Ok() : absl::InternalError("the child does not come to compute");
  }
  v1::AimedFault Fault() const override { return fault_; }
  std::unique_ptr<Injector> Make() const override { return MakeGpuHang(); }
  std::string Damage() override {
    const auto process = ProcessHandle::Open(job_->child().identity());
    const auto page = process.ok() ? WorkloadPage::Open(*process) : Result<WorkloadPage>(process.status());
    if (!page.ok()) return std::string(page.status().message());
    std::string damage = page->FreeRules() == 8 ? "" : "a rule is left in the workload's page";
    const uint64_t before = job_->steps();
    // A mutant's kernel spins for as long as its fault may last.
    if (!LookUntil(std::chrono::seconds(2), [&] { return job_->steps() > before; })) damage += "; its GPU work hangs";
    return damage;
  }

 private:
  std::optional<ShadowGpus> gpus_;
  std::optional<GpuTraining> job_;
  v1::AimedFault fault_;
};

class DcgmScene final : public ProcessScene {
 public:
  DcgmScene() : ProcessScene("gpu.dcgm_field") {}
  Status Raise() override {
    child_.reset();
    dcgm_.emplace();
    child_.emplace(ComputingOnGpu(dcgm_->gpus().file()));
    fault_ = Aim(kind_, child_->identity());
    return dcgm_->gpus().Held() ? Ok() : absl::InternalError("the child does not come to hold its GPU");
  }
  std::unique_ptr<Injector> Make() const override {
    return MakeGpuDcgmField({TRIODRILL_BIN_DIR "/triodrill-dcgm", dcgm_->dcgmi()});
  }
  std::string Damage() override {
    if (!Eventually([&] { return !HelperRuns(Cat("--dcgmi=", dcgm_->dir())); })) return "triodrill-dcgm still runs";
    return ProcessScene::Damage();
  }

 private:
  std::optional<DcgmDir> dcgm_;
};

}  // namespace

std::unique_ptr<Scene> MakeGpuJobScene(std::string_view kind) {
  if (kind == "gpu.burn") return std::make_unique<BurnScene>();
  if (kind == "gpu.hang") return std::make_unique<HangScene>();
  if (kind == "gpu.dcgm_field") return std::make_unique<DcgmScene>();
  return nullptr;
}

}  // namespace triodrill::testing
