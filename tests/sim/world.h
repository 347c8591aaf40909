// A whole run of a drill in one thread, from one seed: coordinator, three nodes, network, disks, clocks, job and
// pipeline, and what goes wrong with them. The same wish gives the same run, to the byte.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/mutants.h"
#include "tests/sim/trouble.h"

namespace triodrill::sim {

struct Wish {
  uint64_t seed = 1;
  Mutant mutant = Mutant::kNone;
  std::vector<Trouble> favoured = {};
  std::set<size_t> without = {};  // troubles of the seed that are left out, by number
  bool talk = false;              // keep the log
};

struct Found {
  std::vector<std::string> violations;  // empty: every invariant held
  std::vector<std::string> troubles;    // of the seed, by number
  std::vector<std::string> log;
  uint64_t digest = 0;
  std::string outcome;  // of the run; "" if the coordinator died
  int landed = 0;       // faults that really were there
};

// `scratch` is a directory of its own in memory; what is in it is removed.
Found Simulate(const Wish& wish, const std::string& scratch);

// The same violation with as few troubles as possible.
Wish Minimised(Wish wish, const std::string& scratch);

}  // namespace triodrill::sim
