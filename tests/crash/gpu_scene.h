// The scenes of gpu.burn, gpu.hang and gpu.dcgm_field: a process on a shadow GPU, whose state is looked at without the
// libraries.
#pragma once

#include <memory>
#include <string_view>

#include "tests/crash/scene.h"

namespace triodrill::testing {

// Null for another kind.
std::unique_ptr<Scene> MakeGpuJobScene(std::string_view kind);

}  // namespace triodrill::testing
