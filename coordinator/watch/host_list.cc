#include "coordinator/watch/host_list.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr size_t kLongestNumber = 9;

Status Refused(std::string_view list, std::string_view what) {
  return absl::InvalidArgumentError(Cat("read the host list \"", list, "\": ", what));
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= kLongestNumber && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// "1-3,07" -> 1 2 3 07; zeros in front of a range's first number are kept in all of it.
std::optional<std::vector<std::string>> Numbers(std::string_view inside) {
  std::vector<std::string> numbers;
  const std::vector<std::string> pieces = absl::StrSplit(View(inside), ',');
  for (const std::string& piece : pieces) {
    const size_t dash = piece.find('-');
    const std::string from = piece.substr(0, dash);
    const std::string to = dash == std::string::npos ? from : piece.substr(dash + 1);
    int first = 0;
    int last = 0;
    if (!IsNumber(from) || !IsNumber(to) || !absl::SimpleAtoi(from, &first) || !absl::SimpleAtoi(to, &last)) {
      return std::nullopt;
    }
    if (last < first || numbers.size() + static_cast<size_t>(last - first) >= kMostHosts) return std::nullopt;
    for (int number = first; number <= last; ++number) {
      std::string text = Cat(number);
      if (text.size() < from.size()) text.insert(0, from.size() - text.size(), '0');
      numbers.push_back(std::move(text));
    }
  }
  return numbers;
}

// Splits at commas that stand outside of brackets; nullopt if brackets do not match.
std::optional<std::vector<std::string>> Words(std::string_view list) {
  std::vector<std::string> words(1);
  bool inside = false;
  for (const char c : list) {
    if ((c == '[' && inside) || (c == ']' && !inside)) return std::nullopt;
    if (c == '[') inside = true;
    if (c == ']') inside = false;
    if (c == ',' && !inside) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (inside) return std::nullopt;
  return words;
}

}  // namespace

Result<std::vector<std::string>> ExpandHosts(std::string_view list) {
  std::vector<std::string> hosts;
  if (list.empty() || list == "(null)") return hosts;
  const auto words = Words(list);
  if (!words) return Refused(list, "brackets do not match");
  for (std::string_view word : *words) {
    if (word.empty()) return Refused(list, "a name is empty");
    std::vector<std::string> made(1);
    while (!word.empty()) {
      const size_t open = std::min(word.find('['), word.size());
      for (std::string& name : made) Append(name, word.substr(0, open));
      word.remove_prefix(open);
      if (word.empty()) break;
      const size_t close = word.find(']');
      const auto numbers = Numbers(word.substr(1, close - 1));
      if (!numbers) return Refused(list, "what stands in brackets is no list of numbers");
      word.remove_prefix(close + 1);
      if (hosts.size() + made.size() * numbers->size() > kMostHosts) return Refused(list, "too many hosts");
      std::vector<std::string> all;
      for (const std::string& name : made) {
        for (const std::string& number : *numbers) all.push_back(name + number);
      }
      made = std::move(all);
    }
    std::move(made.begin(), made.end(), std::back_inserter(hosts));
    if (hosts.size() > kMostHosts) return Refused(list, "too many hosts");
  }
  return hosts;
}

}  // namespace triodrill::watch
