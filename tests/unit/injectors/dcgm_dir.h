// Shadow GPUs, and a stand-in of dcgmi that knows them, in one directory that goes with the test.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/injectors/shadow_gpu.h"
#include "triodrill/text.h"

namespace triodrill::testing {

class DcgmDir {
 public:
  DcgmDir() {
    std::filesystem::create_symlink(TRIODRILL_FAKE_DCGMI, dcgmi());
    std::filesystem::create_directory(dir() + "/dcgm");
    WriteGpus(Cat("4 ", std::string(gpus_[0].identity.uuid), "\n6 ", std::string(gpus_[1].identity.uuid), "\n"));
  }

  const ShadowGpus& gpus() const { return gpus_; }
  const std::string& dir() const { return gpus_.dir(); }
  std::string dcgmi() const { return dir() + "/dcgmi"; }
  void WriteGpus(const std::string& text) const { std::ofstream(dir() + "/dcgm/gpus") << text; }

  // From now on what is injected is not kept.
  void ForgetInjected() const { std::filesystem::create_directories(dir() + "/dcgm/6.230/kept"); }

 private:
  const ShadowGpus gpus_;
};

}  // namespace triodrill::testing
