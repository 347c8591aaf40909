// The scene of storage.full and storage.slow: a directory that is covered by a file system of the drill.
#pragma once

#include <memory>
#include <string_view>

#include "tests/crash/scene.h"

namespace triodrill::testing {

// Its job writes a file anew, again and again; whether it can makes no difference to it.
std::unique_ptr<Scene> MakeCoveredScene(std::string_view kind);

}  // namespace triodrill::testing
