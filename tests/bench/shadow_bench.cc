// What the reference pipeline costs and how fast it is, as a user's run sees it: the real programs on the embedded
// partition. Durations are printed beside the length of a fault-free step, taken in the same run, and as ratios to it.
// Run by `./dev bench shadow [TRIALS]`, never by CTest.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/e2e/partition.h"

namespace triodrill {
namespace {

using Json = nlohmann::json;

std::string SpanText(const Json& span) {
  if (span.is_null()) return "open (censored)";
  char text[64];
  std::snprintf(text, sizeof text, "%.3f~%.3f s", span.at("min_s").get<double>(), span.at("max_s").get<double>());
  return text;
}

double Middle(const Json& span) { return (span.at("min_s").get<double>() + span.at("max_s").get<double>()) / 2; }

void PrintRow(const char* what, const Json& summary, double step_s) {
  const Json& median = summary.at("p50_s");
  std::printf("  %-22s n %d, censored %d, median %s", what, summary.at("n").get<int>(),
              summary.at("censored").get<int>(), SpanText(median).c_str());
  if (!median.is_null()) std::printf(" = %.1f steps", Middle(median) / step_s);
  if (summary.contains("max_s") && !summary.at("max_s").is_null()) {
    std::printf(", longest %.3f s", summary.at("max_s").get<double>());
  }
  std::printf("\n");
}

bool Measure(const char* drill, const std::string& trials) {
  testing::Partition partition;
  const auto run = partition.StartRun(
      drill, {"--trials", trials, "--sham", "0", "--json", "--out", partition.Path("b")}, "reference");
  const std::optional<int> code = run->Wait(std::chrono::seconds(3600));
  if (!code || *code > 2) {
    std::fprintf(stderr, "shadow_bench: %s ended with %d\n%s", drill, code.value_or(-1), run->Err().c_str());
    return false;
  }
  const Json trio = Json::parse(run->Out()).at("trio");
  double steps_per_s = 0;
  int n = 0;
  for (const Json& trial : trio.at("trials")) {
    if (!trial.at("valid").get<bool>()) continue;
    steps_per_s += trial.at("baseline_steps_per_s").get<double>();
    ++n;
  }
  if (n == 0) {
    std::fprintf(stderr, "shadow_bench: %s: no valid trial\n", drill);
    return false;
  }
  steps_per_s /= n;
  std::printf("%s: fault-free %.2f steps/s (mean of %d baselines), a step is %.0f ms\n", drill, steps_per_s, n,
              1000 / steps_per_s);
  PrintRow("detection latency", trio.at("summary").at("detection_latency"), 1 / steps_per_s);
  PrintRow("recovery time", trio.at("summary").at("recovery_time"), 1 / steps_per_s);
  return true;
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) {
  const std::string trials = argc > 1 ? argv[1] : "5";
  bool all = true;
  for (const char* drill : {"software/kill-in-place.yaml", "software/hung-rank.yaml", "network/link-lost.yaml"}) {
    all = triodrill::Measure(drill, trials) && all;
  }
  return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
