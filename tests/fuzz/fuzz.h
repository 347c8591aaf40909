// What the fuzz targets share. A target is one file: LLVMFuzzerTestOneInput on bytes that nobody vouches for, and what
// must hold whatever they are. Under clang's libFuzzer (preset fuzz) inputs are searched for; elsewhere corpus_main.cc
// runs the saved ones and some thousands made from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace triodrill::fuzz {

inline void Must(bool so, const char* otherwise) {
  if (so) return;
  std::fprintf(stderr, "fuzz: %s\n", otherwise);
  std::abort();
}

// Takes an input apart, from its front.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : left_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return left_.empty(); }
  uint8_t Byte() {
    if (left_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }
  // As many as the next byte says, or what is left.
  std::string_view Some() {
    const size_t asked = Byte();
    const size_t count = std::min(asked, left_.size());
    const std::string_view some = left_.substr(0, count);
    left_.remove_prefix(count);
    return some;
  }
  std::string_view Rest() const { return left_; }

 private:
  std::string_view left_;
};

}  // namespace triodrill::fuzz
