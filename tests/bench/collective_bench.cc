// What the NCCL shim costs a job, beside the same calls without it, and what corruption costs beside reading the same
// memory. Each figure is a ratio or a difference within one run: programs are run in turn, and medians are taken.
//   collective_bench [ROUNDS]
//   collective_bench call idle|operation|communicator      what it starts itself with: prints nanoseconds a call
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "injectors/collective/apply.h"
#include "injectors/collective/nccl_abi.h"
#include "injectors/collective/page.h"
#include "triodrill/picking.h"

namespace nccl = triodrill::nccl;
namespace collective = triodrill::collective;
namespace corruption = triodrill::corruption;

extern "C" int ncclAllReduce(const void*, void*, size_t, int, int, nccl::Comm, nccl::Stream);

namespace {

double Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// This process's own page, as its agent would map it; nullptr without the shim.
collective::Page* OwnPage() {
  DIR* const directory = ::opendir("/proc/self/fd");
  collective::Page* found = nullptr;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    char link[256] = {};
    if (::readlink(path.c_str(), link, sizeof(link) - 1) <= 0 || std::string(link) != collective::kPageLink) continue;
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    found = static_cast<collective::Page*>(
        ::mmap(nullptr, sizeof(collective::Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
  }
  ::closedir(directory);
  return found;
}

int MeasureCalls(const std::string& mode) {
  static float buffer[1024];
  static int some = 0;
  auto* const comm = reinterpret_cast<nccl::Comm>(&some);
  const auto call = [&] { ncclAllReduce(buffer, buffer, 1024, nccl::kFloat32, nccl::kSum, comm, nullptr); };
  call();
  collective::Page* const page = OwnPage();
  if (mode != "idle") {
    if (page == nullptr) return 1;
    collective::RuleOrder& order = page->rules[0].order;
    order.operations = mode == "operation" ? 1u << collective::kBroadcast : 1u << collective::kAllReduce;
    order.comm_ranks = mode == "operation" ? 0 : 8;
    order.comm_rank = -1;
    order.peer = -1;
    order.action = collective::kDelay;
    order.moment = collective::kBefore;
    page->rules[0].owner = 1;
    page->armed = 1;
  }
  constexpr int kCalls = 20'000;
  std::vector<double> each;
  for (int repeat = 0; repeat < 61; ++repeat) {
    const double begun = Now();
    for (int i = 0; i < kCalls; ++i) call();
    each.push_back((Now() - begun) / kCalls);
  }
  std::printf("%.3f\n", Median(each));
  return 0;
}

double OneRun(const char* self, const char* mode, bool preload) {
  int out[2];
  if (::pipe(out) != 0) std::exit(70);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    if (preload) ::setenv("LD_PRELOAD", TRIODRILL_NCCL_SHIM, 1);
    ::execl(self, self, "call", mode, static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(out[1]);
  char text[64] = {};
  const ssize_t size = ::read(out[0], text, sizeof(text) - 1);
  ::close(out[0]);
  ::waitpid(pid, nullptr, 0);
  if (size <= 0) std::exit(70);
  return std::strtod(text, nullptr);
}

void CompareCalls(const char* self, int rounds) {
  struct Way {
    const char* mode;
    bool preload;
    const char* text;
    double bar;
  };
  constexpr Way kWays[] = {{"idle", false, "without the shim", 0},
                           {"idle", true, "nobody drills", 1},
                           {"operation", true, "armed for another operation", 15},
                           {"communicator", true, "armed for another communicator", 15}};
  std::vector<double> times[std::size(kWays)];
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < std::size(kWays); ++i) times[i].push_back(OneRun(self, kWays[i].mode, kWays[i].preload));
  }
  const double without = Median(times[0]);
  std::printf("a call of an empty ncclAllReduce, median of %d processes in turn\n", rounds);
  for (size_t i = 0; i < std::size(kWays); ++i) {
    std::vector<double> added;
    for (size_t round = 0; round < times[i].size(); ++round) added.push_back(times[i][round] - times[0][round]);
    std::printf("  %-32s %7.2f ns", kWays[i].text, Median(times[i]));
    if (i > 0)
      std::printf("  added %+6.2f ns (at most %.0f), ratio %.2f", Median(added), kWays[i].bar,
                  Median(times[i]) / without);
    std::printf("\n");
  }
}

const collective::HitSink kNowhere = {[](void* count, const collective::Hit&) { ++*static_cast<uint64_t*>(count); },
                                      nullptr};

void CompareChances() {
  constexpr uint64_t kMost = uint64_t{1} << 28;
  void* const memory = ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(70);
  std::memset(memory, 1, kMost);
  std::printf("a chance that picks 100 elements on average\n");
  double smallest = 0;
  for (uint64_t elements = uint64_t{1} << 18; elements <= kMost; elements <<= 5) {
    corruption::Order order{};
    order.type = corruption::kInt8;
    order.change = corruption::kFlip;
    order.adjacent = 1;
    order.pick = corruption::kChance;
    order.chance = 100.0 / static_cast<double>(elements);
    uint64_t hits = 0;
    const collective::HitSink sink{kNowhere.found, &hits};
    std::vector<double> each;
    for (uint64_t call = 0; call < 201; ++call) {
      const uint64_t before = hits;
      const double begun = Now();
      collective::Apply(order, {memory, elements, nullptr, 0}, call, sink);
      each.push_back((Now() - begun) / static_cast<double>(std::max<uint64_t>(hits - before, 1)));
    }
    const double ns = Median(each);
    if (smallest == 0) smallest = ns;
    std::printf("  of %9lu elements %8.1f ns a hit, ratio to the smallest buffer %.2f\n", elements, ns, ns / smallest);
  }
  ::munmap(memory, kMost);
}

uint64_t ReadAll(const uint64_t* words, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

void CompareScans() {
  constexpr uint64_t kBytes = uint64_t{1} << 28;
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(70);
  std::memset(memory, 0x3c, kBytes);
  std::printf("a rule for values in a range, of 256 MiB in which none is, beside reading them\n");
  uint64_t sums = 0;
  for (const auto& [type, name] : {std::pair{corruption::kFloat32, "fp32"},
                                   {corruption::kBfloat16, "bf16"},
                                   {corruption::kFloat8E4M3, "fp8"},
                                   {corruption::kInt8, "int8"}}) {
    corruption::Order order{};
    order.type = type;
    order.change = corruption::kFlip;
    order.adjacent = 1;
    order.pick = corruption::kEvery;
    order.ranged = 1;
    order.low = corruption::RawOf(type, 100);
    order.high = corruption::RawOf(type, 120);
    uint64_t hits = 0;
    const collective::HitSink sink{kNowhere.found, &hits};
    std::vector<double> read;
    std::vector<double> scanned;
    for (int round = 0; round < 11; ++round) {
      double begun = Now();
      sums += ReadAll(static_cast<const uint64_t*>(memory), kBytes / 8);
      read.push_back(Now() - begun);
      begun = Now();
      collective::Apply(order, {memory, kBytes / corruption::BytesOf(type), nullptr, 0}, 0, sink);
      scanned.push_back(Now() - begun);
    }
    if (hits != 0 || sums == 0) std::exit(70);
    std::printf("  %-5s read %6.1f GiB/s, scanned %6.1f GiB/s, ratio %.2f (at least 0.70)\n", name,
                0.25e9 / Median(read), 0.25e9 / Median(scanned), Median(read) / Median(scanned));
  }
  ::munmap(memory, kBytes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "call") == 0) return MeasureCalls(argv[2]);
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  CompareCalls("/proc/self/exe", rounds);
  CompareChances();
  CompareScans();
  return 0;
}
