// What triodrill-burn is told, as its argument vector, and what it says: numbers in a page that it shares with whoever
// looks at its descriptors. Pure.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "injectors/process/helper_order.h"
#include "triodrill/kernels/layout.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill {

struct BurnOrder {
  HelperOrder common;
  std::string library;         // the CUDA driver
  std::string uuid;            // of the GPU
  double multiprocessors = 1;  // of the GPU's, 0 … 1
  double duty = 1;             // of each period, 0 … 1
  Nanos period{0};
  bool memory = false;  // else arithmetic
};

inline constexpr std::string_view kBurnProgram = "triodrill-burn";
// The process name under which it says how many launches of its kernel have ended: "burn:12".
inline constexpr std::string_view kBurnCount = "burn:";

// Without the program's name and what is common to all helpers.
std::vector<std::string> BurnArguments(const BurnOrder& order);
Result<BurnOrder> ParseBurnArguments(const std::vector<std::string>& arguments);

// One of at least one, rounded up.
int BlocksOf(const BurnOrder& order, int multiprocessors);
// Of one launch, a period each. A launch that others' turns hold up ends with its period.
kernels::BurnBounds BoundsOf(const BurnOrder& order);

// The program's page, a sealed memfd. It writes, others read.
struct BurnPage {
  std::atomic<uint64_t> magic;  // written last
  uint32_t layout;
  uint32_t bytes;
  std::atomic<uint32_t> wanted;           // multiprocessors
  std::atomic<uint32_t> multiprocessors;  // that count
  std::atomic<uint64_t> launches;
  std::atomic<uint64_t> rounds;
  std::atomic<uint64_t> busy_ns;   // of the mean block
  std::atomic<uint64_t> since_ns;  // of which
};
inline constexpr char kBurnPageName[] = "triodrill-burn";
inline constexpr char kBurnPageLink[] = "/memfd:triodrill-burn (deleted)";
inline constexpr uint64_t kBurnMagic = 0x314e'5255'4249'5254;  // "TRIBURN1"
inline constexpr uint32_t kBurnLayout = 1;

}  // namespace triodrill
