// What everything in a simulated world stands on: its time, its chance, the mistake that is made on purpose, and what
// was found wrong. And the truth that nobody in the world is told: what was really done to whom, when.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/mutants.h"
#include "tests/sim/random.h"
#include "tests/sim/schedule.h"
#include "triodrill/text.h"

namespace triodrill::sim {

inline constexpr Nanos kLease = std::chrono::seconds(2);

// Of one shot, in the world's time.
struct Truth {
  std::string node;
  bool sham = false;
  bool permitted = false;            // by the gate
  std::optional<TimePoint> applied;  // the effect was there
  std::optional<TimePoint> cleared;  // and was gone
  bool said_undone = false;          // the coordinator wrote down that it is confirmed
};

struct Ground {
  Schedule schedule;
  Random random;
  Mutant mutant = Mutant::kNone;
  bool talk = false;  // keep the log
  std::vector<std::string> violations;
  std::vector<std::string> log;
  uint64_t digest = 0xcbf29ce484222325;  // of all that was logged: the same seed gives the same
  std::map<std::string, Truth> truth;    // by shot

  explicit Ground(uint64_t seed) : random(seed) {}

  bool Is(Mutant one) const { return mutant == one; }

  template <typename... Parts>
  void Log(const Parts&... parts) {
    const std::string line = Cat(schedule.now().time_since_epoch().count() / 1000, " us: ", parts...);
    for (const char c : line) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    if (talk) log.push_back(line);
  }
  template <typename... Parts>
  void Violate(const Parts&... parts) {
    Log("VIOLATION ", parts...);
    violations.push_back(Cat(parts...));
  }
};

}  // namespace triodrill::sim
