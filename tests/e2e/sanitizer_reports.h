// What sanitizers report in any process below a test, also in those whose standard error goes to a file of the job's.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "tests/e2e/program.h"

namespace triodrill::testing {

// An instrumented job runs many times slower: which of its ranks is slow, and what comes in time, is the instrument's.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kTimesAreItsOwn = false;
#else
inline constexpr bool kTimesAreItsOwn = true;
#endif

// Every process that is started while it lives writes its reports below `directory`; one of them fails the test.
class SanitizerReports {
 public:
  explicit SanitizerReports(const std::string& directory) : directory_(directory) {
    std::filesystem::create_directories(directory_);
    for (const char* name : {"TSAN_OPTIONS", "ASAN_OPTIONS"}) {
      static std::map<std::string, std::string> before;
      const char* now = std::getenv(name);
      const std::string& first = before.try_emplace(name, now == nullptr ? "" : now).first->second;
      setenv(name, (first + " log_path=" + directory_ + "/report").c_str(), 1);
    }
  }
  ~SanitizerReports() {
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      ADD_FAILURE() << entry.path().string() << ":\n" << Slurp(entry.path().string());
    }
  }
  SanitizerReports(const SanitizerReports&) = delete;
  SanitizerReports& operator=(const SanitizerReports&) = delete;

 private:
  const std::string directory_;
};

}  // namespace triodrill::testing
