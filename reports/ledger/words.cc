#include "reports/ledger/words.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "reports/ledger/calendar.h"
#include "reports/render/number.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

using Json = nlohmann::ordered_json;

Nanos NanosOf(double seconds) { return Nanos(std::llround(seconds * 1e9)); }

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json Seconds(Nanos nanos) { return static_cast<double>(nanos.count()) / 1e9; }
Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string CountsText(int n, int censored, const char* word) {
  std::string text = CountText(n, "trial", "trials");
  if (censored > 0) Append(text, ", ", censored, " ", word);
  return text;
}

}  // namespace

std::string RangeText(const Range& range, std::string_view unit) {
  const bool open = std::isinf(range.high);
  if (unit == "s") {
    if (open) return Cat("at least ", SecondsText(NanosOf(range.low)));
    return SpanText({NanosOf(range.low), NanosOf(range.high)});
  }
  if (open) return Cat("at least ", RatioText(range.low), " ", unit);
  const std::string low = RatioText(range.low);
  const std::string high = RatioText(range.high);
  return Cat(low == high ? low : Cat(low, "~", high), " ", unit);
}

std::string FigureText(const Figure& figure, std::string_view unit) {
  if (figure.n == 0) return "none";
  const std::string counts = CountsText(figure.n, figure.censored, unit == "slots" ? "unknown" : "censored");
  if (!figure.enough()) return Cat("not enough trials (", counts, "; ", figure.needed, " make a median)");
  std::string text = figure.median ? RangeText(*figure.median, unit) : std::string("open");
  if (figure.interval) {
    Append(text, " [", RangeText(*figure.interval, unit), " at ", PercentText(figure.confidence), "]");
  }
  return Cat(text, " (", counts, ")");
}

std::string TimedText(const std::optional<Timed>& time) {
  if (!time) return "";
  return time->high ? SpanText({time->low, *time->high}) : Cat("not within ", SecondsText(time->low));
}

std::string ShareText(const Share& share) {
  if (share.n == 0) return "0 of 0";
  return Cat(share.k, " of ", share.n, " (", PercentText(std::floor(share.low * 1000) / 1000), "~",
             PercentText(std::ceil(share.high * 1000) / 1000), ")");
}

std::string LevelText(const LevelFigure& level) {
  if (level.n == 0)
    return level.unknown == 0 ? "none" : Cat("not known (", CountText(level.unknown, "trial", "trials"), ")");
  std::string text = level.median.empty() ? "" : Cat(level.median, ", ");
  return Cat(text, level.worst, " at worst (", CountsText(level.n + level.unknown, level.unknown, "unknown"), ")");
}

std::string ReleaseText(std::string_view release) {
  return release.empty() ? std::string("no release named") : Cat("release ", release);
}

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

Json TreeOf(const std::optional<Range>& range) {
  if (!range) return nullptr;
  return {{"min", Number(range->low)}, {"max", Number(range->high)}};
}

Json TreeOf(const Figure& figure) {
  return {{"n", figure.n},
          {"censored", figure.censored},
          {"enough", figure.enough()},
          {"median", TreeOf(figure.median)},
          {"interval", TreeOf(figure.interval)},
          {"confidence", figure.interval ? Json(figure.confidence) : Json(nullptr)}};
}

Json TreeOf(const std::optional<Timed>& time) {
  if (!time) return nullptr;
  if (time->censored()) return {{"censored", true}, {"censored_at_s", Seconds(time->low)}};
  return {{"censored", false}, {"min_s", Seconds(time->low)}, {"max_s", Seconds(*time->high)}};
}

Json TreeOf(const Share& share) {
  return {{"k", share.k},
          {"n", share.n},
          {"low", share.n > 0 ? Json(share.low) : Json(nullptr)},
          {"high", share.n > 0 ? Json(share.high) : Json(nullptr)}};
}

Json TreeOf(const LevelFigure& level) {
  return {{"n", level.n},
          {"unknown", level.unknown},
          {"median", TextOrNull(level.median)},
          {"worst", TextOrNull(level.worst)}};
}

Json TreeOf(const IncidentRow& incident) {
  const auto since = [&](const std::string& at) {
    return at.empty() ? Json(nullptr) : Json(SecondsBetween(incident.started, at));
  };
  return {{"id", incident.id},
          {"started", incident.started},
          {"quarter", QuarterName(QuarterOf(incident.started))},
          {"severity", incident.severity},
          {"summary", incident.summary},
          {"drill", incident.drill},
          {"pipeline", incident.pipeline},
          {"release", incident.release},
          {"detected", TextOrNull(incident.detected)},
          {"detected_after_s", since(incident.detected)},
          {"ended", TextOrNull(incident.ended)},
          {"ended_after_s", since(incident.ended)},
          {"operator", incident.operator_name},
          {"added", incident.added}};
}

}  // namespace triodrill::ledger
