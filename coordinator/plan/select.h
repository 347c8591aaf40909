// What a selector means on a partition. Pure.
#pragma once

#include <string>
#include <vector>

#include "coordinator/plan/dice.h"
#include "triodrill/status.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill::plan {

// Where one shot goes. `rank` >= 0: the global rank decides the place when the trial begins.
struct Aim {
  std::string node;
  int local_rank = 0;
  int rank = -1;
  std::string interface;
};

// Everything that the selector could mean, in a fixed order. An error says what matched nothing.
Result<std::vector<Aim>> Candidates(const v1::Target& target, const v1::PartitionSpec& partition);

// `pick` of them from the dice, or all of them.
std::vector<Aim> Choose(const v1::Target& target, std::vector<Aim> candidates, Dice& dice);

}  // namespace triodrill::plan
