#include "injectors/os/step.h"

#include <atomic>

namespace triodrill {
namespace {
std::atomic<StepHook> step_hook{nullptr};
}  // namespace

void SetStepHook(StepHook hook) { step_hook.store(hook); }

void Step(const char* name) {
  if (const StepHook hook = step_hook.load()) hook(name);
}

}  // namespace triodrill
