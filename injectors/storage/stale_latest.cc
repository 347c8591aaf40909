#include "injectors/storage/stale_latest.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "injectors/os/file.h"
#include "injectors/storage/swap_fault.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

std::string PatternOf(const v1::Parameters& with) {
  const std::string& pattern = with.storage_stale_latest().checkpoints();
  return pattern.empty() ? "step-*" : pattern;
}

// The number in a name that matches "BEFORE*AFTER"; of at most 18 digits, so that it is one.
std::optional<int64_t> NumberIn(std::string_view name, std::string_view before, std::string_view after) {
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after)) return {};
  const std::string_view digits = name.substr(before.size(), name.size() - before.size() - after.size());
  const bool only = std::all_of(digits.begin(), digits.end(), [](char c) { return absl::ascii_isdigit(c); });
  int64_t number = 0;
  if (!only || digits.size() > 18 || !absl::SimpleAtoi(View(digits), &number)) return {};
  return number;
}

constexpr SwapFault kStale = {
    .kind = "storage.stale_latest",
    .writes_stand = true,
    .check = [](const v1::Parameters& with) -> Status {
      const std::string& pointer = with.storage_stale_latest().pointer();
      const std::string pattern = PatternOf(with);
      const bool plain = pointer.find_first_of("/*?[") == std::string::npos;
      if (plain && std::count(pattern.begin(), pattern.end(), '*') == 1 && pattern.find('/') == std::string::npos) {
        return Ok();
      }
      return absl::InvalidArgumentError(
          "prepare storage.stale_latest: pointer is a name, and checkpoints a name with one `*`");
    },
    .directory = [](const v1::Parameters& with) -> std::string {
      const std::string& directory = with.storage_stale_latest().directory();
      return directory.empty() ? "checkpoint" : directory;
    },
    .files = [](const v1::Parameters& with) -> std::string {
      const std::string& pointer = with.storage_stale_latest().pointer();
      return pointer.empty() ? "latest" : pointer;
    },
    .damage = [](const v1::Parameters&) -> Damage { return {.kind = DamageKind::kText}; },
    .complete = [](const v1::Parameters& with, const FileBelow& file, Damage* damage) -> Status {
      TRIODRILL_ASSIGN_OR_RETURN(const std::string content, ReadFileAt(file.directory.get(), file.name));
      TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                                 ListDirectory(Cat("/proc/self/fd/", file.directory.get())));
      TRIODRILL_ASSIGN_OR_RETURN(damage->text, OlderPointer(content, names, PatternOf(with)));
      return Ok();
    },
};

}  // namespace

Result<std::string> OlderPointer(std::string_view content, const std::vector<std::string>& names,
                                 std::string_view pattern) {
  const size_t star = std::min(pattern.find('*'), pattern.size());
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = star < pattern.size() ? pattern.substr(star + 1) : "";
  const std::string_view core = content.substr(0, content.find_last_not_of(" \t\r\n") + 1);
  const std::optional<int64_t> named = NumberIn(core, before, after);
  const std::optional<int64_t> now = named.has_value() ? named : NumberIn(core, "", "");
  if (!now.has_value()) {
    return absl::FailedPreconditionError(
        Cat("read the pointer '", content, "': neither a name like ", pattern, " nor a number"));
  }
  std::optional<std::pair<int64_t, std::string>> older;
  for (const std::string& name : names) {
    const std::optional<int64_t> number = NumberIn(name, before, after);
    if (!number.has_value() || *number >= *now) continue;
    if (!older.has_value() || *number > older->first) older = {*number, name};
  }
  if (!older.has_value()) {
    return absl::FailedPreconditionError(Cat("find a checkpoint older than ", core, ": none matches ", pattern));
  }
  std::string text = named.has_value() ? older->second : Cat(older->first);
  // As many digits as before where it was filled up with zeros.
  if (!named.has_value() && core.front() == '0' && text.size() < core.size()) {
    text.insert(0, core.size() - text.size(), '0');
  }
  return text + std::string(content.substr(core.size()));
}

std::unique_ptr<Injector> MakeStorageStaleLatest() { return MakeSwap(kStale); }
v1::Capability ProbeStorageStaleLatest() { return ProbeSwap(kStale.kind); }

}  // namespace triodrill
