// A directory with a state file of shadow GPUs, gone with the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "drills/shadow/gpu/fields.h"
#include "drills/shadow/gpu/state_file.h"
#include "triodrill/text.h"

namespace triodrill::shadow::gpu {

class GpuDir {
 public:
  explicit GpuDir(int gpus = 2) {
    std::string name = (std::filesystem::temp_directory_path() / "triodrill-gpu-XXXXXX").string();
    dir_ = mkdtemp(name.data());
    const Status made = MakeState(file(), {gpus, 7, "n0"}, false);
    EXPECT_TRUE(made.ok()) << made;
  }
  ~GpuDir() {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  GpuDir(const GpuDir&) = delete;
  GpuDir& operator=(const GpuDir&) = delete;

  const std::string& dir() const { return dir_; }
  std::string file() const { return Cat(dir_, "/gpu.state"); }
  // As triodrill-gpu-state would, by a mapping of its own.
  void Set(int gpu, std::string_view assignment) const {
    const Result<MappedState> state = MappedState::Open(file(), true);
    ASSERT_TRUE(state.ok()) << state.status();
    const Status set = SetField(**state, gpu, assignment);
    EXPECT_TRUE(set.ok()) << set;
  }

 private:
  std::string dir_;
};

}  // namespace triodrill::shadow::gpu
