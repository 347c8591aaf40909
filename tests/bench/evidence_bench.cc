// What evidence costs: a fact written down, a long timeline read and reported, a large bundle proved. Each part runs in
// a process of its own, so that its memory is its own; verifying is held against plain SHA-256 in the same run.
//   evidence_bench [FACTS [MIB]]     facts of the timeline, size of the bundle; default 1000000 and 1024
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "reports/evidence/sha256.h"
#include "reports/evidence/verify.h"
#include "reports/render/html.h"
#include "tests/unit/reports/signed_bundle.h"

namespace triodrill {
namespace {

using Seconds = std::chrono::duration<double>;

double Timed(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return Seconds(std::chrono::steady_clock::now() - began).count();
}

void Need(bool so, const char* what) {
  if (so) return;
  std::fprintf(stderr, "evidence_bench: %s\n", what);
  std::exit(1);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Runs `part` in a child and says what its memory came to at most, in MiB.
void InOwnProcess(const char* name, const std::function<void()>& part) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    part();
    std::fflush(stdout);
    std::_Exit(0);
  }
  int status = 0;
  rusage usage{};
  Need(::wait4(child, &status, 0, &usage) == child && status == 0, name);
  std::printf("%-44s %10.1f MiB at most\n", name, static_cast<double>(usage.ru_maxrss) / 1024);
}

// 256 ranks that make ten steps a second; one is killed, and all go on until there are enough facts.
Story LongStory(int64_t facts) {
  constexpr int kSlots = 256;
  constexpr double kStepsPerSecond = 10;
  Story story(kStepsPerSecond);
  story.Nodes(kSlots / 8, 8);
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  const double end = 6 + static_cast<double>(facts) / (kSlots * kStepsPerSecond);
  story.Trial().Kill("n2/0").Signal(2.1, v1::DETECTED, "n2/0").Restart(2.2).Restored(5, 990).Run(5.5, end, 991);
  story.End(end + 1);
  return story;
}

void WriteTimeline(std::vector<v1::Fact> facts, const std::string& path, const std::string& digest) {
  auto writer = TimelineWriter::Create(path);
  Need(writer.ok(), "the timeline cannot be made");
  for (v1::Fact& fact : facts) {
    if (fact.has_run_started()) fact.mutable_run_started()->set_plan_digest(digest);
    Need((*writer)->Append(std::move(fact)).ok(), "a fact cannot be written");
  }
  Need((*writer)->Sync().ok(), "the timeline cannot be synced");
}

void AppendFacts(int64_t facts, const Scratch& scratch) {
  Story story = LongStory(facts);
  const std::vector<v1::Fact> told = AllFacts(story.Told());
  const auto count = static_cast<double>(told.size());
  std::vector<double> rates;
  for (int round = 0; round < 3; ++round) {
    const std::string path = scratch.Path("timeline-" + std::to_string(round));
    std::vector<v1::Fact> copy = told;
    rates.push_back(count / Timed([&] { WriteTimeline(std::move(copy), path, std::string(64, '0')); }));
    std::filesystem::remove(path);
  }
  std::printf("%-44s %10.0f facts/s (median of 3 times %.0f facts, each synced once at its end)\n", "timeline, append",
              Median(rates), count);
}

void MakeLongBundle(int64_t facts, const std::string& directory) {
  Story story = LongStory(facts);
  const Result<Bundle> bundle = Bundle::Create(directory);
  Need(bundle.ok(), "the bundle cannot be made");
  const Result<std::string> digest = bundle->WritePlan(story.plan);
  Need(digest.ok(), "the plan cannot be written");
  WriteTimeline(AllFacts(story.Told()), bundle->timeline_path(), *digest);
  std::filesystem::remove(bundle->Path(kIncompleteFile));
}

void ReportFacts(const std::string& directory) {
  double loading = 0;
  double deriving = 0;
  double drawing = 0;
  std::optional<LoadedBundle> bundle;
  Derived derived;
  loading = Timed([&] {
    Result<LoadedBundle> loaded = LoadBundle(directory);
    Need(loaded.ok(), "the bundle cannot be loaded");
    bundle = *std::move(loaded);
  });
  deriving = Timed([&] { derived = Derive(*bundle); });
  size_t bytes = 0;
  drawing = Timed([&] {
    bytes = Html({{&bundle->plan, &bundle->timeline, &derived.trio, &derived.verdict, directory, ""}}).size();
  });
  std::printf("%-44s %10.2f s (load %.2f, derive %.2f, page of %.1f MiB %.2f; %zu facts)\n",
              "report of a long timeline", loading + deriving + drawing, loading, deriving,
              static_cast<double>(bytes) / (1 << 20), drawing, bundle->timeline.size());
}

double PlainSha256(int64_t mebibytes) {
  const std::string block(1 << 20, 'x');
  return Timed([&] {
    Sha256 sha256;
    for (int64_t i = 0; i < mebibytes; ++i) sha256.Add(block);
    Need(sha256.Hex().size() == 64, "no digest");
  });
}

void MakeLargeBundle(SignedBundle& bundle, int64_t mebibytes) {
  bundle.Write();
  std::ofstream log(bundle.Path("raw/large.log"));
  std::string line;
  for (int64_t written = 0; written < mebibytes << 20; written += static_cast<int64_t>(line.size())) {
    line = "step " + std::to_string(written) + " rank 7 loss 0.123456 seconds 0.1000\n";
    log << line;
  }
  Need(log.flush().good(), "the large log cannot be written");
  log.close();
  bundle.SealAgain();
}

void VerifyLarge(const SignedBundle& bundle, int64_t mebibytes) {
  std::vector<double> ratios;
  std::vector<double> speeds;
  for (int round = 0; round < 3; ++round) {
    const double plain = PlainSha256(mebibytes);
    const double verified = Timed([&] {
      const Result<Verification> found = VerifyBundle(bundle.directory(), bundle.key().public_key(), "");
      Need(found.ok() && found->proof == Proof::kProved, "the bundle is not proved");
    });
    ratios.push_back(plain / verified);
    speeds.push_back(static_cast<double>(mebibytes) / verified);
  }
  std::printf("%-44s %9.0f%% of plain SHA-256 (median of 3; %.0f MiB/s, %lld MiB)\n", "verify a large bundle",
              100 * Median(ratios), Median(speeds), static_cast<long long>(mebibytes));
}

}  // namespace

int Main(int argc, char** argv) {
  const int64_t facts = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const int64_t mebibytes = argc > 2 ? std::atoll(argv[2]) : 1024;
  Need(facts > 0 && mebibytes > 0, "usage: evidence_bench [FACTS [MIB]]");
  const Scratch scratch;
  InOwnProcess("  of it, memory", [&] { AppendFacts(facts, scratch); });
  InOwnProcess("  to make a long bundle", [&] { MakeLongBundle(facts, scratch.Path("long")); });
  InOwnProcess("  of the report, memory", [&] { ReportFacts(scratch.Path("long")); });
  SignedBundle large;
  MakeLargeBundle(large, mebibytes);
  InOwnProcess("  of the proof, memory", [&] { VerifyLarge(large, mebibytes); });
  return 0;
}

}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Main(argc, argv); }
