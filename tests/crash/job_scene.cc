#include <filesystem>
#include <fstream>

#include "injectors/catalog.h"
#include "injectors/collective/shim_page.h"
#include "injectors/os/file.h"
#include "injectors/tensor/workload_page.h"
#include "tests/crash/process_scene.h"
#include "tests/unit/collective/ranks.h"
#include "tests/unit/injectors/training.h"
#include "triodrill/text.h"

namespace triodrill::testing {
namespace {

class TensorScene final : public ProcessScene {
 public:
  explicit TensorScene(std::string_view kind) : ProcessScene(kind) {}
  Status Raise() override {
    child_.reset();
    child_.emplace(Training());
    fault_ = Aim(kind_, child_->identity());
    return Ok();
  }
  std::string Damage() override {
    const auto process = ProcessHandle::Open(child_->identity());
    const auto page = process.ok() ? WorkloadPage::Open(*process) : Result<WorkloadPage>(process.status());
    if (!page.ok()) return std::string(page.status().message());
    return page->FreeRules() == 8 ? "" : "a rule is left in the workload's page";
  }
};

// Its job is one rank that makes collectives without end, under the shim.
class CollectiveScene final : public Scene {
 public:
  explicit CollectiveScene(std::string_view kind) : kind_(kind) {}
  Status Raise() override {
    job_.reset();
    job_.emplace(JobShape{.ranks = 1});
    if (!job_->trouble().empty()) return absl::InternalError(job_->trouble());
    job_->Tell(0, "loop");
    fault_ = Aim(kind_, job_->identity(0));
    return Ok();
  }
  v1::AimedFault Fault() const override { return fault_; }
  std::unique_ptr<Injector> Make() const override { return FindInjector(kind_)->make(); }
  std::string Damage() override {
    const Result<ShimPage> page = job_->Page(0);
    if (!page.ok()) return std::string(page.status().message());
    if (page->FreeRules() != 8) return "a rule is left in the shim's page";
    const auto before = page->Calls();
    return Eventually([&] { return page->Calls() != before; }) ? "" : "the job makes no calls any more";
  }

 private:
  const std::string kind_;
  std::optional<Ranks> job_;
  v1::AimedFault fault_;
};

class StorageScene final : public ProcessScene {
 public:
  explicit StorageScene(std::string_view kind) : ProcessScene(kind) {}
  Status Raise() override {
    child_.reset();
    root_.emplace();
    std::filesystem::create_directories(root_->path() + "/checkpoint/step-00000010");
    std::filesystem::create_directories(root_->path() + "/checkpoint/step-00000000");
    std::ofstream(File()) << kContent;
    std::ofstream(Pointer()) << "10\n";
    child_.emplace(Training(false, root_->path()));
    fault_ = Aim(kind_, child_->identity());
    return Ok();
  }
  std::string Damage() override {
    std::string damage = ReadFile(File()).value_or("") == kContent ? "" : "the checkpoint is damaged";
    if (ReadFile(Pointer()).value_or("") != "10\n") damage += "the pointer is stale";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_->path())) {
      if (entry.is_regular_file() && entry.path() != File() && entry.path() != Pointer())
        Append(damage, "; ", entry.path().string(), " is left");
    }
    return damage;
  }

 private:
  static constexpr const char* kContent = "all that was learnt";
  std::string File() const { return root_->path() + "/checkpoint/step-00000010/shard-0.ckpt"; }
  std::string Pointer() const { return root_->path() + "/checkpoint/latest"; }
  std::optional<TemporaryDirectory> root_;
};

}  // namespace

std::unique_ptr<Scene> MakeJobScene(std::string_view kind) {
  if (kind.starts_with("tensor.")) return std::make_unique<TensorScene>(kind);
  if (kind.starts_with("collective.")) return std::make_unique<CollectiveScene>(kind);
  if (kind.starts_with("storage.")) return std::make_unique<StorageScene>(kind);
  return nullptr;
}

}  // namespace triodrill::testing
