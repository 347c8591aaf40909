// SHA-256 of bytes that come in pieces. files.h has it for bytes that are there.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace triodrill {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::string_view bytes);
  std::string Hex();  // of what was added since the last call, or since the beginning

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace triodrill
