#include "injectors/gpu/dcgm.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "triodrill/text.h"

namespace triodrill::dcgm {
namespace {

constexpr std::string_view kTaken = "Successfully injected field info.";

std::vector<std::string> LinesOf(std::string_view text) { return absl::StrSplit(View(text), '\n'); }

std::string FirstLine(std::string_view text) {
  for (const std::string& line : LinesOf(text)) {
    if (!absl::StripAsciiWhitespace(line).empty()) return line;
  }
  return "it says nothing";
}

}  // namespace

std::vector<std::string> ListArguments(const std::string& dcgmi) { return {dcgmi, "discovery", "-l"}; }

std::vector<std::string> InjectArguments(const Field& field, int ahead_seconds) {
  return {field.dcgmi,   "test", "--inject",  "--gpuid",  Cat(field.gpu),    "-f",
          Cat(field.id), "-v",   field.value, "--offset", Cat(ahead_seconds)};
}

std::vector<std::string> WatchArguments(const Field& field) {
  return {field.dcgmi, "dmon", "-e", Cat(field.id), "-i", Cat(field.gpu), "-c", "1"};
}

std::string ValueText(double value) { return absl::StrFormat("%.15g", value); }

// A table: in a row that begins a GPU its number stands in the first column; its UUID is in the second, some rows
// below.
Result<uint32_t> GpuInList(std::string_view list, std::string_view uuid) {
  const std::string wanted = Cat("Device UUID: ", uuid);
  uint32_t gpu = 0;
  bool known = false;
  for (const std::string& line : LinesOf(list)) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 3) continue;
    const absl::string_view first = absl::StripAsciiWhitespace(cells[1]);
    if (!first.empty()) known = absl::SimpleAtoi(first, &gpu);
    if (known && absl::StripAsciiWhitespace(cells[2]) == wanted) return gpu;
  }
  return absl::NotFoundError(
      Cat("find ", uuid, " among the GPUs that DCGM knows: it is none of them; it says: ", FirstLine(list)));
}

Status CheckInjected(int code, std::string_view answer) {
  if (code == 0 && answer.find(kTaken) != std::string_view::npos) return Ok();
  return absl::AbortedError(Cat("inject into DCGM: dcgmi ends with ", code, ": ", FirstLine(answer)));
}

Result<std::string> ShownValue(std::string_view watch, uint32_t gpu) {
  for (const std::string& line : LinesOf(watch)) {
    std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipWhitespace());
    if (words.size() < 3 || words[0] != "GPU" || words[1] != Cat(gpu)) continue;
    words.erase(words.begin(), words.begin() + 2);
    return absl::StrJoin(words, " ");
  }
  return absl::NotFoundError(Cat("look at a field of GPU ", gpu, " in DCGM: dcgmi shows none: ", FirstLine(watch)));
}

bool Shows(std::string_view shown, std::string_view value) {
  double seen = 0;
  double wanted = 0;
  if (!absl::SimpleAtod(View(shown), &seen) || !absl::SimpleAtod(View(value), &wanted)) return false;
  constexpr double kShownDigits = 0.0005;
  return std::abs(seen - wanted) <= kShownDigits + std::abs(wanted) * 1e-12 || seen == std::trunc(wanted);
}

}  // namespace triodrill::dcgm
