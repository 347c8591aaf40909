#include "tests/crash/process_scene.h"

#include "injectors/catalog.h"
#include "injectors/os/file.h"
#include "injectors/process/run_state.h"

namespace triodrill::testing {

Status ProcessScene::Raise() {
  child_.reset();
  child_.emplace(kind_ == "cpu.throttle" ? Child::Busy() : Child::Idle(2));
  fault_ = Aim(kind_, child_->identity());
  return Ok();
}

std::unique_ptr<Injector> ProcessScene::Make() const { return FindInjector(kind_)->make(); }

std::string ProcessScene::Damage() {
  const auto process = ProcessHandle::Open(child_->identity());
  if (!process.ok()) return std::string(process.status().message());
  const auto state = LookAtRunState(*process);
  if (!state.ok()) return std::string(state.status().message());
  if (kind_ == "process.kill") return "";  // dead or alive: there is nothing to give back
  return state->ended || state->AnyStop() ? state->Text() : "";
}

bool HelperRuns(const std::string& aim) {
  const auto names = ListDirectory("/proc");
  for (const std::string& name : *names) {
    const auto command = ReadFile(Cat("/proc/", name, "/cmdline"));
    if (command.ok() && command->find(aim) != std::string::npos) return true;
  }
  return false;
}

}  // namespace triodrill::testing
