// Runs many seeds and says what was found. Started by `./dev sim`; the last line is
// `N seeds, V violations, R seeds/s`; the exit code is 1 if there is any.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "tests/sim/world.h"
#include "triodrill/text.h"

namespace triodrill::sim {
namespace {

double Seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void Tell(const Wish& wish, const std::string& scratch) {
  Wish least = Minimised(wish, scratch);
  least.talk = true;
  const Found found = Simulate(least, scratch);
  std::printf("seed %llu\n", static_cast<unsigned long long>(wish.seed));
  for (size_t i = 0; i < found.troubles.size(); ++i) {
    if (!least.without.contains(i)) std::printf("  trouble %zu: %s\n", i, found.troubles[i].c_str());
  }
  for (const std::string& violation : found.violations) std::printf("  violation: %s\n", violation.c_str());
}

int Main(int argc, char** argv) {
  CLI::App app("Simulates drills, each from a seed, and looks for what must never be");
  uint64_t seeds = 1000;
  uint64_t from = 1;
  std::string mutant;
  bool talk = false;
  app.add_option("--seeds", seeds, "How many");
  app.add_option("--from", from, "The first");
  app.add_option("--mutant", mutant, "A mistake made on purpose: its name");
  app.add_flag("--log", talk, "Print what happened");
  CLI11_PARSE(app, argc, argv);
  Wish wish;
  bool known = mutant.empty();
  for (const NamedMutant& one : kMutants) {
    if (one.name != mutant) continue;
    wish.mutant = one.mutant;
    known = true;
  }
  if (!known) {
    std::fprintf(stderr, "sim: no mutant is called '%s'\n", mutant.c_str());
    return 64;
  }
  const std::string scratch = Cat("/dev/shm/triodrill-sim-", ::getpid());
  uint64_t violations = 0;
  uint64_t landed = 0;
  const double begun = Seconds();
  wish.talk = talk;
  for (uint64_t seed = from; seed < from + seeds; ++seed) {
    wish.seed = seed;
    const Found found = Simulate(wish, scratch);
    landed += static_cast<uint64_t>(found.landed);
    for (const std::string& line : found.log) std::printf("%s\n", line.c_str());
    if (found.violations.empty()) continue;
    ++violations;
    if (violations <= 10) Tell(wish, scratch);
  }
  const double took = Seconds() - begun;
  std::filesystem::remove_all(scratch);
  std::printf("%llu faults were really there\n", static_cast<unsigned long long>(landed));
  std::printf("%llu seeds, %llu violations, %.0f seeds/s\n", static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(violations), static_cast<double>(seeds) / took);
  return violations == 0 ? 0 : 1;
}

}  // namespace
}  // namespace triodrill::sim

int main(int argc, char** argv) { return triodrill::sim::Main(argc, argv); }
