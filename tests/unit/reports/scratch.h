// A directory of its own for one test, gone with it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace triodrill {

class Scratch {
 public:
  Scratch() {
    std::string name = ::testing::TempDir() + "triodrill-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    directory_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string Path(const std::string& relative) const { return directory_ + "/" + relative; }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

}  // namespace triodrill
