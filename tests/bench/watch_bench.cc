// What following many logs costs, beside the system calls it cannot do without.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/watch/log_tail.h"
#include "coordinator/watch/signal_matcher.h"
#include "coordinator/watch/unique_fd.h"

namespace triodrill::watch {
namespace {

class CountingClock final : public Clock {
 public:
  TimePoint Now() override { return FromNanos(++ns_); }

 private:
  int64_t ns_ = 0;
};

// `count` logs in a directory, each open for writing.
class Logs {
 public:
  explicit Logs(int64_t count) {
    std::string pattern = (std::filesystem::temp_directory_path() / "triodrill-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    directory_ = pattern;
    for (int64_t i = 0; i < count; ++i) {
      paths_.push_back((directory_ / std::to_string(i)).string());
      writers_.emplace_back(open(paths_.back().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    }
  }
  ~Logs() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  Logs(const Logs&) = delete;
  Logs& operator=(const Logs&) = delete;

  const std::vector<std::string>& paths() const { return paths_; }
  void WriteTo(size_t file) {
    static constexpr char kLine[] = "step 123456 rank 7 local_rank 3 loss 0.123456 seconds 0.1000\n";
    if (write(writers_[file % writers_.size()].get(), kLine, sizeof(kLine) - 1) < 0) std::abort();
  }

 private:
  std::filesystem::path directory_;
  std::vector<std::string> paths_;
  std::vector<UniqueFd> writers_;
};

// The floor of a look that finds nothing: one read of an empty queue.
void EmptyQueueRead(benchmark::State& state) {
  const UniqueFd queue(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  char buffer[4096];
  for (auto _ : state) benchmark::DoNotOptimize(read(queue.get(), buffer, sizeof(buffer)));
}
BENCHMARK(EmptyQueueRead);

void LookThatFindsNothing(benchmark::State& state) {
  Logs logs(state.range(0));
  CountingClock clock;
  const auto tail = *LogTail::Open(logs.paths(), {.scan_every = std::chrono::hours(1)}, clock);
  for (auto _ : state) benchmark::DoNotOptimize(tail->Tick());
}
BENCHMARK(LookThatFindsNothing)->Arg(1)->Arg(100)->Arg(900);

// A fine tick of 2 ms with as many busy files as the argument says: each wrote one line. Lines a second are in `items`.
void LookThatFindsALineInEach(benchmark::State& state) {
  Logs logs(900);
  CountingClock clock;
  const auto tail = *LogTail::Open(logs.paths(), {.scan_every = std::chrono::hours(1)}, clock);
  int64_t lines = 0;
  size_t next = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int64_t i = 0; i < state.range(0); ++i) logs.WriteTo(next++);
    state.ResumeTiming();
    lines += static_cast<int64_t>(tail->Tick().size());
  }
  state.SetItemsProcessed(lines);
}
BENCHMARK(LookThatFindsALineInEach)->Arg(1)->Arg(200);

v1::PipelineSpec PipelineOf(int64_t signals) {
  v1::PipelineSpec pipeline;
  for (int64_t i = 0; i < signals; ++i) {
    v1::Signal& signal = *pipeline.add_signals();
    signal.set_id("s" + std::to_string(i));
    signal.set_means(v1::NOTE);
    signal.mutable_log()->set_path("/log");
    signal.mutable_log()->set_match("^WARNING:.*event " + std::to_string(i) + R"( of node (\w+) at ([\d.]+)$)");
  }
  return pipeline;
}

void LineThatMeansNothing(benchmark::State& state) {
  const SignalMatcher matcher = *SignalMatcher::Create(PipelineOf(state.range(0)), {}, "/run", "/data");
  const Line line{.path = "/log", .number = 1, .offset = 0, .text = "step 123456 rank 7 loss 0.123456", .at = {}};
  for (auto _ : state) benchmark::DoNotOptimize(matcher.Match(line));
}
BENCHMARK(LineThatMeansNothing)->Arg(1)->Arg(20)->Arg(200);

}  // namespace
}  // namespace triodrill::watch

BENCHMARK_MAIN();
