// The checked-in text of our kernels: it is that of their sources, and an assembler for GPUs takes it, where one is.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "injectors/process/run_to_end.h"
#include "tests/unit/injectors/child.h"
#include "triodrill/kernels/burn_ptx.h"
#include "triodrill/kernels/hang_ptx.h"
#include "triodrill/kernels/layout.h"

namespace triodrill {
namespace {

using testing::Finished;
using testing::RunProgram;
using testing::TemporaryDirectory;

struct Text {
  const char* name;
  const char* text;
  std::vector<std::string> entries;
};

const std::vector<Text>& Texts() {
  static const auto* const kTexts = new std::vector<Text>{
      {"burn", kernels::kBurnPtx, {kernels::kBurnCompute, kernels::kBurnMemory}},
      {"hang", kernels::kHangPtx, {kernels::kHang}},
  };
  return *kTexts;
}

TEST(Ptx, HasTheKernelsByTheNamesThatAreLaunched) {
  for (const Text& one : Texts()) {
    const std::string text = one.text;
    EXPECT_NE(text.find(".target sm_80"), std::string::npos) << one.name;
    for (const std::string& entry : one.entries) {
      EXPECT_NE(text.find(".visible .entry " + entry + "("), std::string::npos) << entry;
    }
  }
}

TEST(Ptx, IsThatOfItsSource) {
  if (!FindProgram("clang++-14").ok()) GTEST_SKIP() << "clang++-14, which it was made with, is not here";
  for (const Text& one : Texts()) {
    const std::string source = std::string(TRIODRILL_SOURCE_DIR "/include/triodrill/kernels/") + one.name + ".cu";
    const Finished made = RunProgram({"clang++-14", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80",
                                      "-nocudainc", "-nocudalib", "-std=c++20", "-O2", "-Wno-unknown-cuda-version",
                                      "-I" TRIODRILL_SOURCE_DIR "/include", "-S", "-o", "-", source});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(made.out, one.text) << one.name << ".cu has changed: run include/triodrill/kernels/make_ptx.py";
  }
}

TEST(Ptx, IsTakenByTheAssemblerForEachGenerationOfGpus) {
  if (!FindProgram("ptxas").ok()) GTEST_SKIP() << "ptxas, of a CUDA toolkit, is not here";
  const TemporaryDirectory directory;
  for (const Text& one : Texts()) {
    const std::string file = directory.path() + "/" + one.name + ".ptx";
    std::ofstream(file) << one.text;
    for (const std::string architecture : {"sm_80", "sm_90", "sm_100"}) {
      const Finished assembled = RunProgram({"ptxas", "-v", "-arch=" + architecture, file, "-o", file + ".cubin"});
      EXPECT_EQ(assembled.code, 0) << one.name << " for " << architecture << ": " << assembled.err;
      EXPECT_NE(assembled.err.find("0 bytes spill stores"), std::string::npos) << assembled.err;
    }
  }
}

}  // namespace
}  // namespace triodrill
