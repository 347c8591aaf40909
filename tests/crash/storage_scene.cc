#include "tests/crash/storage_scene.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/storage/mounts.h"
#include "injectors/storage/overlay.h"
#include "injectors/storage/overlay_place.h"
#include "tests/unit/injectors/child.h"

namespace triodrill::testing {
namespace {

constexpr const char* kContent = "all that was learnt";

class CoveredScene final : public Scene {
 public:
  explicit CoveredScene(std::string_view kind) : kind_(kind) {}
  ~CoveredScene() override { SweepAway(); }

  Status Raise() override {
    if (const Status possible = CheckMayMount(kind_); !possible.ok()) return absl::UnavailableError(possible.message());
    SweepAway();
    root_.emplace();
    std::filesystem::create_directories(Directory());
    std::ofstream(Kept()) << kContent;
    child_.emplace([this] {
      if (::chdir(root_->path().c_str()) != 0) ::_exit(1);
      LookUntil(std::chrono::hours(1), [] {
        const UniqueFd fd(::open("checkpoint/scratch", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
        [[maybe_unused]] const ssize_t wrote = ::write(fd.get(), "x", 1);
        return false;
      });
    });
    // Its working directory tells where it is; the file, that it has begun.
    if (!Eventually([&] { return std::filesystem::exists(Directory() + "/scratch"); })) {
      return absl::InternalError("the job does not write");
    }
    fault_ = Aim(kind_, child_->identity());
    return Ok();
  }
  v1::AimedFault Fault() const override { return fault_; }
  std::unique_ptr<Injector> Make() const override {
    const std::string program = TRIODRILL_BIN_DIR "/triodrill-overlay";
    return kind_ == "storage.full" ? MakeStorageFull(program) : MakeStorageSlow(program);
  }
  std::string Damage() override {
    // Its program uncovers the directory by itself when the process that asked for it dies; that takes it a moment.
    if (!Eventually([&] { return !IsCovered(); })) return Directory() + " is still covered";
    std::string damage = ReadFile(Kept()).value_or("") == kContent ? "" : "the checkpoint is damaged";
    std::ofstream(Directory() + "/new") << kContent;
    if (ReadFile(Directory() + "/new").value_or("") != kContent) damage += "; it cannot be written to";
    std::filesystem::remove(Directory() + "/new");
    if (!Eventually([&] { return !ProgramRuns(); })) damage += "; triodrill-overlay still runs";
    return damage;
  }

 private:
  std::string Directory() const { return root_->path() + "/checkpoint"; }
  std::string Kept() const { return Directory() + "/shard-0.ckpt"; }
  bool IsCovered() const {
    const auto mounts = ReadMounts();
    if (!mounts.ok()) return true;
    for (const MountLine& mount : *mounts) {
      if (mount.point == Directory()) return true;
    }
    return false;
  }
  bool ProgramRuns() const {
    const auto names = ListDirectory("/proc");
    for (const std::string& name : *names) {
      const auto command = ReadFile(Cat("/proc/", name, "/cmdline"));
      if (command.ok() && command->find(Cat("--directory=", Directory())) != std::string::npos) return true;
    }
    return false;
  }
  // Also what a mutant leaves.
  void SweepAway() {
    child_.reset();
    if (!root_.has_value()) return;
    const auto mounts = ReadMounts();
    for (const MountLine& mount : mounts.value_or(std::vector<MountLine>())) {
      if (mount.point == Directory()) static_cast<void>(UnmountOverlays(mount.source));
    }
    root_.reset();
  }

  const std::string kind_;
  std::optional<TemporaryDirectory> root_;
  std::optional<Child> child_;
  v1::AimedFault fault_;
};

}  // namespace

std::unique_ptr<Scene> MakeCoveredScene(std::string_view kind) { return std::make_unique<CoveredScene>(kind); }

}  // namespace triodrill::testing
