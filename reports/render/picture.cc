#include "reports/render/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_format.h"
#include "reports/render/escape.h"
#include "reports/render/number.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 88;  // room for names
constexpr double kRight = kWidth - 16;
constexpr double kLaneHeight = 18;
constexpr double kBarHeight = 10;
constexpr double kNodeGap = 5;
constexpr double kLabelHeight = 15;
constexpr double kLetter = 6.4;  // of the labels, on average
constexpr double kRateHeight = 84;
constexpr double kAxisHeight = 30;
constexpr size_t kLongestName = 40;

double Seconds(Nanos nanos) { return std::chrono::duration<double>(nanos).count(); }

// From time to the picture's width.
class Scale {
 public:
  explicit Scale(const Stretch& shown)
      : from_(Seconds(shown.from)), per_second_((kRight - kLeft) / std::max(1e-9, Seconds(shown.to) - from_)) {}
  double At(double seconds) const { return std::clamp(kLeft + (seconds - from_) * per_second_, kLeft, kRight); }
  double At(Nanos nanos) const { return At(Seconds(nanos)); }
  bool Shows(const Stretch& at) const {
    return Seconds(at.to) >= from_ && Seconds(at.from) <= from_ + (kRight - kLeft) / per_second_;
  }

 private:
  double from_;
  double per_second_;
};

// About eight of them, at numbers that people count in.
double TickStep(double seconds) {
  constexpr std::array kSteps = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,  0.2,  0.5,   1.0,   2.0,   5.0,
                                 10.0,  15.0,  30.0,  60.0, 120., 300., 600., 900., 1800., 3600., 7200., 21600.};
  for (const double step : kSteps) {
    if (seconds / step <= 9) return step;
  }
  return std::ceil(seconds / 9 / 86400) * 86400;
}

std::string NumberText(double value) {
  std::string text = absl::StrFormat("%.3f", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

void AppendText(double x, double y, std::string_view anchor, std::string_view text, std::string& out) {
  absl::StrAppendFormat(&out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>", x, y, anchor,
                        HtmlText(text, kLongestName));
}

void AppendRect(double from, double to, double y, double height, std::string_view look, std::string_view title,
                std::string& out) {
  absl::StrAppendFormat(&out, "<rect %s x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s</title></rect>",
                        look, from, y, std::max(1.0, to - from), height, HtmlText(title));
}

void AppendAxis(const Stretch& shown, const Scale& scale, double top, double bottom, std::string& out) {
  const double from = Seconds(shown.from);
  const double to = Seconds(shown.to);
  const double step = TickStep(to - from);
  out += "<g class=\"axis\">";
  for (auto i = static_cast<int64_t>(std::ceil(from / step)); static_cast<double>(i) * step <= to; ++i) {
    const double at = static_cast<double>(i) * step;
    absl::StrAppendFormat(&out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", scale.At(at), scale.At(at),
                          top, bottom);
    AppendText(scale.At(at), bottom + 14, "middle", Cat(NumberText(at), " s"), out);
  }
  out += "</g>";
}

std::string TimeText(const Stretch& at) {
  if (at.from < Nanos{0}) return Cat("up to ", BoundText(-at.from), " before");
  return SpanText({at.from, at.to});
}

// The labels, each on the first line on which it meets no other. Returns how many lines it took.
struct Placed {
  const Milestone* milestone;
  double x;
  double begin;
  bool to_the_left;
  size_t line;
};
std::vector<Placed> PlaceLabels(const TrialLanes& lanes, const Scale& scale, size_t* lines) {
  std::vector<Placed> placed;
  std::vector<double> taken;  // how far each line is written
  for (const Milestone& milestone : lanes.milestones) {
    if (!scale.Shows(milestone.at)) continue;
    const double x = scale.At(milestone.at.from);
    const double width = kLetter * static_cast<double>(milestone.name.size()) + 8;
    const bool left = x + width > kRight;
    const double begin = left ? x - width : x;
    size_t line = 0;
    while (line < taken.size() && taken[line] > begin) ++line;
    if (line == taken.size()) taken.push_back(0);
    taken[line] = begin + width;
    placed.push_back({&milestone, x, begin, left, line});
  }
  *lines = taken.size();
  return placed;
}

void AppendMilestones(const std::vector<Placed>& placed, const Scale& scale, double lines, double bottom,
                      std::string& out) {
  for (const Placed& label : placed) {
    const Stretch& at = label.milestone->at;
    const double top = (static_cast<double>(label.line) + 1) * kLabelHeight;
    const double to = std::max(label.x + 1, scale.At(at.to));
    Append(out, "<g class=\"milestone\"><title>", HtmlText(label.milestone->name), ": ", TimeText(at), "</title>");
    absl::StrAppendFormat(&out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", label.x, lines,
                          to - label.x, bottom - lines);
    absl::StrAppendFormat(&out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", label.x, label.x,
                          top - kLabelHeight + 3, bottom);
    AppendText(label.to_the_left ? label.x - 4 : label.x + 4, top - 3, label.to_the_left ? "end" : "start",
               label.milestone->name, out);
    out += "</g>";
  }
}

// "n2/1" -> "n2".
std::string_view NodeOf(std::string_view slot) { return slot.substr(0, slot.find('/')); }

void AppendLane(const Lane& lane, const Scale& scale, std::string_view id, double y, std::string& out) {
  out += "<g class=\"lane\">";
  AppendText(kLeft - 8, y + kBarHeight, "end", lane.slot, out);
  absl::StrAppendFormat(&out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", kLeft, kRight,
                        y + kBarHeight / 2, y + kBarHeight / 2);
  for (const Stretch& working : lane.working) {
    if (!scale.Shows(working)) continue;
    AppendRect(scale.At(working.from), scale.At(working.to), y, kBarHeight, "class=\"work\"",
               Cat(lane.slot, " makes steps"), out);
  }
  for (const Stretch& faulted : lane.faulted) {
    if (!scale.Shows(faulted)) continue;
    AppendRect(scale.At(faulted.from), scale.At(faulted.to), y - 3, kBarHeight + 6,
               Cat("class=\"fault\" fill=\"url(#", id, "-hatch)\""), Cat("fault on ", lane.slot), out);
  }
  for (const Stretch& ended : lane.ended) {
    const double x = scale.At(ended.to);
    absl::StrAppendFormat(&out,
                          "<path class=\"ended\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"><title>%s: process ended, "
                          "%s</title></path>",
                          x - 4, y + 1, HtmlText(lane.slot), TimeText(ended));
  }
  for (const Stretch& appeared : lane.appeared) {
    const double x = scale.At(appeared.to);
    absl::StrAppendFormat(&out,
                          "<path class=\"appeared\" d=\"M%.1f %.1fl4 -8l4 8z\"><title>%s: process appeared, "
                          "%s</title></path>",
                          x - 4, y + 9, HtmlText(lane.slot), TimeText(appeared));
  }
  out += "</g>";
}

void AppendRate(const TrialLanes& lanes, const Scale& scale, double top, std::string& out) {
  double most = lanes.baseline_steps_per_s;
  for (const double rate : lanes.rate.steps_per_s) most = std::max(most, rate);
  if (most <= 0) return;
  most *= 1.1;
  const auto y = [&](double rate) { return top + kRateHeight * (1 - rate / most); };
  out += "<g class=\"rate\">";
  absl::StrAppendFormat(&out, "<path d=\"M%.1f %.1f", kLeft, y(0));
  double at = Seconds(lanes.shown.from);
  const double width = Seconds(lanes.rate.width);
  double right = kLeft;
  for (const double rate : lanes.rate.steps_per_s) {
    right = scale.At(at + width);
    absl::StrAppendFormat(&out, "V%.1fH%.1f", y(rate), right);
    at += width;
  }
  absl::StrAppendFormat(&out, "V%.1fz\"/>", y(0));
  if (lanes.baseline_steps_per_s > 0) {
    const double line = y(lanes.baseline_steps_per_s);
    absl::StrAppendFormat(&out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", kLeft, kRight, line, line);
    AppendText(kLeft - 8, line + 4, "end", absl::StrFormat("%.1f/s", lanes.baseline_steps_per_s), out);
  }
  AppendText(kLeft - 8, y(0), "end", "steps", out);
  out += "</g>";
}

void Open(double height, std::string_view id, std::string_view title, std::string& out) {
  absl::StrAppendFormat(
      &out,
      "<div class=\"picture\"><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"%s-title\">"
      "<title id=\"%s-title\">%s</title>",
      kWidth, height, id, id, HtmlText(title));
}

}  // namespace

std::string TrialPicture(const TrialLanes& lanes, std::string_view id, std::string_view title) {
  const Scale scale(lanes.shown);
  size_t lines = 0;
  const std::vector<Placed> labels = PlaceLabels(lanes, scale, &lines);
  const double top = static_cast<double>(lines) * kLabelHeight + 6;
  std::string drawn;
  double y = top;
  std::string_view node;
  for (const Lane& lane : lanes.lanes) {
    if (!node.empty() && NodeOf(lane.slot) != node) y += kNodeGap;
    node = NodeOf(lane.slot);
    AppendLane(lane, scale, id, y + 4, drawn);
    y += kLaneHeight;
  }
  const double rate_top = y + 10;
  AppendRate(lanes, scale, rate_top, drawn);
  const double bottom = rate_top + kRateHeight;
  std::string out;
  Open(bottom + kAxisHeight, id, title, out);
  Append(out, "<defs><pattern id=\"", id,
         "-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
         "<rect class=\"hatch\" width=\"2.5\" height=\"6\"/></pattern></defs>");
  AppendAxis(lanes.shown, scale, top, bottom, out);
  out += drawn;
  AppendMilestones(labels, scale, top, bottom, out);
  out += "</svg></div>";
  return out;
}

std::string DelaysPicture(const std::vector<Bar>& bars, std::string_view id, std::string_view title) {
  Nanos longest = std::chrono::milliseconds(1);
  for (const Bar& bar : bars) {
    longest = std::max(longest, bar.delay.censored() ? bar.delay.censored_at : bar.delay.seen->max);
  }
  const Stretch shown{Nanos{0}, longest + longest / 10};
  const Scale scale(shown);
  const double bottom = kLaneHeight * static_cast<double>(bars.size()) + 6;
  std::string out;
  Open(bottom + kAxisHeight, id, title, out);
  AppendAxis(shown, scale, 0, bottom, out);
  double y = 6;
  for (const Bar& bar : bars) {
    out += "<g class=\"delay\">";
    AppendText(kLeft - 8, y + kBarHeight - 1, "end", bar.label, out);
    if (bar.delay.censored()) {
      const double to = scale.At(bar.delay.censored_at);
      absl::StrAppendFormat(&out,
                            "<path class=\"censored\" d=\"M%.1f %.1fH%.1fm-6 -4l6 4l-6 4\"><title>not seen within "
                            "%s</title></path>",
                            kLeft, y + kBarHeight / 2, to, SecondsText(bar.delay.censored_at));
      AppendText(kLeft + 6, y + kBarHeight / 2 - 3, "start", "not seen", out);
    } else {
      const double sure = scale.At(bar.delay.seen->min);
      const std::string text = SpanText(*bar.delay.seen);
      AppendRect(kLeft, sure, y, kBarHeight, "class=\"seen\"", text, out);
      AppendRect(sure, scale.At(bar.delay.seen->max), y, kBarHeight, "class=\"open\"", text, out);
    }
    out += "</g>";
    y += kLaneHeight;
  }
  out += "</svg></div>";
  return out;
}

}  // namespace triodrill
