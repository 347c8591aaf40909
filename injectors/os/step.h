// Named points between two effects, so that a test can end the process at each of them. Nothing happens at a point
// unless a hook was set; the programs never set one.
#pragma once

namespace triodrill {

using StepHook = void (*)(const char* name);
void SetStepHook(StepHook hook);
void Step(const char* name);

}  // namespace triodrill
