// What a training job pays for the library: where nobody drills, where a rule waits for another phase, and where it
// acts.
#include <benchmark/benchmark.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "triodrill/workload.h"
#include "triodrill/workload/page.h"

namespace {

using triodrill::workload::Page;

// This process's own page, as its agent would map it.
Page* Attached() {
  static Page* const page = [] {
    if (triodrill_attach(0, 1) != 0) std::abort();
    DIR* directory = opendir("/proc/self/fd");
    Page* found = nullptr;
    while (const dirent* entry = readdir(directory)) {
      const std::string path = std::string("/proc/self/fd/") + entry->d_name;
      char link[256] = {};
      if (readlink(path.c_str(), link, sizeof(link) - 1) <= 0 || std::string(link) != triodrill::workload::kPageLink)
        continue;
      const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
      found = static_cast<Page*>(mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
      close(fd);
    }
    closedir(directory);
    return found;
  }();
  return page;
}

// The floor: one store of a number and one load of another, each on its own line of the page.
void StoreAndLoad(benchmark::State& state) {
  Page* const page = Attached();
  uint64_t step = 0;
  for (auto _ : state) {
    page->step.store(++step, std::memory_order_release);
    benchmark::DoNotOptimize(page->armed.load(std::memory_order_acquire));
  }
}
BENCHMARK(StoreAndLoad);

void Progress(benchmark::State& state) {
  Attached();
  uint64_t step = 0;
  for (auto _ : state) triodrill_progress(++step);
}
BENCHMARK(Progress);

void PhaseWhereNobodyDrills(benchmark::State& state) {
  Attached();
  const int phase = triodrill_phase_id("reduced");
  for (auto _ : state) triodrill_phase(phase);
}
BENCHMARK(PhaseWhereNobodyDrills);

void PhaseWithARule(benchmark::State& state, const char* rule_phase) {
  Page* const page = Attached();
  const int phase = triodrill_phase_id("reduced");
  static std::vector<float> values(1 << 20, 1.0F);
  triodrill_register_tensor("gradients", values.data(), values.size(), TRIODRILL_FLOAT32);
  triodrill::workload::RuleOrder order{};
  order.kind = triodrill::workload::kFlip;
  order.pick = triodrill::workload::kBySeed;
  order.elements = 1;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  order.deadline_boottime_ns = (now.tv_sec + 3600) * 1'000'000'000;
  std::strcpy(order.tensor, "gradients");
  std::strcpy(order.phase, rule_phase);
  page->rules[0].owner = 1;
  page->rules[0].order = order;
  page->armed = 1;
  for (auto _ : state) triodrill_phase(phase);
  page->armed = 0;
  page->rules[0].owner = 0;
}
BENCHMARK_CAPTURE(PhaseWithARule, ForAnotherPhase, "applied");
BENCHMARK_CAPTURE(PhaseWithARule, ThatFlipsOneElement, "reduced");

}  // namespace

BENCHMARK_MAIN();
