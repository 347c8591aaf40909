#include "reports/render/number.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace triodrill {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kTenth = 100'000;  // of a millisecond

int64_t Down(int64_t ns, int64_t unit) { return ns >= 0 ? ns / unit : -((-ns + unit - 1) / unit); }
int64_t Up(int64_t ns, int64_t unit) { return -Down(-ns, unit); }

// `count` thousandths as "1.234".
std::string Thousandths(int64_t count) { return absl::StrFormat("%d.%03d", count / 1000, count % 1000); }
std::string Tenths(int64_t count) { return absl::StrFormat("%d.%d", count / 10, count % 10); }

std::string Joined(const std::string& low, const std::string& high, const char* unit) {
  return low == high ? absl::StrCat(low, " ", unit) : absl::StrCat(low, "~", high, " ", unit);
}

std::string Trimmed(std::string text) {
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string SecondsText(Nanos nanos) {
  return absl::StrCat(Thousandths(Down(std::max<int64_t>(0, nanos.count()), kMillisecond)), " s");
}

std::string BoundText(Nanos nanos) {
  const int64_t ns = nanos.count();
  return absl::StrCat(Trimmed(absl::StrFormat("%d.%09d", ns / 1'000'000'000, ns % 1'000'000'000)), " s");
}

std::string SpanText(const Span& span) {
  const int64_t low = std::max<int64_t>(0, span.min.count());
  const int64_t high = std::max(low, span.max.count());
  if (high < 100 * kMillisecond) return Joined(Tenths(Down(low, kTenth)), Tenths(Up(high, kTenth)), "ms");
  return Joined(Thousandths(Down(low, kMillisecond)), Thousandths(Up(high, kMillisecond)), "s");
}

std::string WidthText(Nanos nanos) {
  const int64_t ns = std::max<int64_t>(0, nanos.count());
  if (ns < kMillisecond) return absl::StrCat(Up(ns, kMicrosecond), " us");
  if (ns < 10'000 * kMillisecond) return absl::StrCat(Tenths(Up(ns, kTenth)), " ms");
  return absl::StrCat(Thousandths(Up(ns, kMillisecond)), " s");
}

std::string PercentText(double share) { return absl::StrCat(Trimmed(absl::StrFormat("%.1f", share * 100)), "%"); }

std::string RatioText(double ratio) { return Trimmed(absl::StrFormat("%.3f", ratio)); }

std::string CountText(int64_t n, const char* one, const char* many) {
  return absl::StrCat(n, " ", n == 1 ? one : many);
}

}  // namespace triodrill
