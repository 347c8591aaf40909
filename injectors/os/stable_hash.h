// A number for a text, the same in every process and on every machine (FNV-1a): tokens and seeds that a fresh process
// derives again. Never 0, which stands for none. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace triodrill {

constexpr uint64_t StableHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

}  // namespace triodrill
