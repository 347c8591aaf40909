#include "tests/sim/trouble.h"

#include <array>

#include "triodrill/text.h"

namespace triodrill::sim {

std::string Planned::Text() const {
  constexpr std::array kNames = {
      "the agent dies",
      "the agent dies within so many steps",
      "the power goes",
      "the node is cut off",
      "the stream breaks",
      "the coordinator dies",
      "a person aborts",
      "others change the target",
      "syncs fail",
      "the disk is full",
      "reverts fail",
      "looks fail",
      "an apply fails",
      "faults never land",
      "the rank is restarted",
      "a record rots",
      "the wall clock is stepped",
      "there is no guardian",
      "the pipeline is blind",
      "the network is slow",
  };
  static_assert(kNames.size() == static_cast<size_t>(Trouble::kCount));
  return Cat("at ", at.count() / 1'000'000, " ms, n", node, ": ", kNames[static_cast<size_t>(what)], " (for ",
             lasting.count() / 1'000'000, " ms, count ", count, ")");
}

std::vector<Planned> DrawTroubles(uint64_t seed, const std::vector<Trouble>& favoured) {
  Random random(seed ^ 0x7472696f6472696c);
  constexpr std::array kHowMany = {0, 1, 1, 1, 2, 2, 2, 3, 3, 5};
  const int many = favoured.empty() ? kHowMany[random.Below(kHowMany.size())] : 5;
  std::vector<Planned> troubles;
  for (int i = 0; i < many; ++i) {
    Planned& one = troubles.emplace_back();
    one.what = favoured.empty() ? static_cast<Trouble>(random.Below(static_cast<uint64_t>(Trouble::kCount)))
                                : favoured[random.Below(favoured.size())];
    // Half of them where the first faults are.
    const bool early = random.Chance(0.5) || !favoured.empty();
    one.at = random.Between(Nanos(0), Nanos(std::chrono::seconds(early ? 6 : 16)));
    one.node = static_cast<int>(random.Below(3));
    one.lasting = random.Between(Nanos(std::chrono::milliseconds(50)), Nanos(std::chrono::seconds(5)));
    one.count = static_cast<int>(random.Between(1, 60));
  }
  return troubles;
}

}  // namespace triodrill::sim
