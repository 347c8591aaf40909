#include "reports/evidence/progress_line.h"

#include <charconv>

#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

constexpr std::string_view kSequence = "\"sequence\":";
constexpr std::string_view kAt = "\"at\":";
constexpr std::string_view kEarliest = "\"earliest_ns\":";
constexpr std::string_view kLatest = "\"latest_ns\":";
constexpr std::string_view kTrial = "\"trial\":";
constexpr std::string_view kProgress = "\"progress\":";
constexpr std::string_view kSlot = "\"slot\":";
constexpr std::string_view kNode = "\"node\":";
constexpr std::string_view kRank = "\"rank\":";
constexpr std::string_view kStep = "\"step\":";

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void Open(std::string_view key) {
    if (!key.empty()) Key(key);
    out_ += '{';
    first_ = true;
  }
  void Close() {
    out_ += '}';
    first_ = false;
  }
  // What has its default value is not written.
  void Number(std::string_view key, int64_t value) {
    if (value == 0) return;
    Key(key);
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  void Text(std::string_view key, const std::string& text) {
    if (text.empty()) return;
    Key(key);
    AppendJsonString(text, out_);
  }

 private:
  void Key(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += key;
  }

  std::string& out_;
  bool first_ = true;
};

// Walks over the canonical text. Each returns whether it was there, and is behind it then.
class Walker {
 public:
  explicit Walker(std::string_view text) : rest_(text) {}

  bool Open() {
    first_ = true;
    return Take("{");
  }
  bool Close() {
    first_ = false;
    return Take("}");
  }
  bool Key(std::string_view key) {
    const std::string_view before = rest_;
    if ((first_ || Take(",")) && Take(key)) {
      first_ = false;
      return true;
    }
    rest_ = before;
    return false;
  }
  template <typename Integer>
  bool Number(Integer& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const bool canonical = rest_.substr(rest_.starts_with('-') ? 1 : 0, 1) != "0";  // nor is zero ever written
    if (error != std::errc() || !canonical) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  bool Text(std::string_view& text) {
    if (!Take("\"")) return false;
    const size_t end = rest_.find('"');
    if (end == std::string_view::npos || end == 0) return false;
    for (const char c : rest_.substr(0, end)) {
      if (c < 0x20 || c == '\\') return false;  // and all that is not ASCII, whose sign is set
    }
    text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool AtEnd() const { return rest_.empty(); }

 private:
  bool Take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }

  std::string_view rest_;
  bool first_ = true;
};

// True if the member is not there, or there and read.
template <typename Integer>
bool MaybeNumber(Walker& walker, std::string_view key, Integer& value) {
  return !walker.Key(key) || walker.Number(value);
}

bool MaybeText(Walker& walker, std::string_view key, std::string_view& text) {
  return !walker.Key(key) || walker.Text(text);
}

bool ReadInstant(Walker& walker, Instant& at) {
  int64_t earliest_ns = 0;
  int64_t latest_ns = 0;
  if (!walker.Open() || !MaybeNumber(walker, kEarliest, earliest_ns) || !MaybeNumber(walker, kLatest, latest_ns)) {
    return false;
  }
  at = {FromNanos(earliest_ns), FromNanos(latest_ns)};
  return walker.Close();
}

bool ReadProgress(Walker& walker, ProgressLine& said) {
  return walker.Open() && MaybeText(walker, kSlot, said.slot) && MaybeText(walker, kNode, said.node) &&
         MaybeNumber(walker, kRank, said.rank) && MaybeNumber(walker, kStep, said.row.step) && walker.Close();
}

}  // namespace

void AppendProgressFact(const v1::Fact& fact, std::string& out) {
  Writer writer(out);
  writer.Open("");
  writer.Number(kSequence, fact.sequence());
  if (fact.has_at()) {
    writer.Open(kAt);
    writer.Number(kEarliest, fact.at().earliest_ns());
    writer.Number(kLatest, fact.at().latest_ns());
    writer.Close();
  }
  writer.Number(kTrial, fact.trial());
  writer.Open(kProgress);
  writer.Text(kSlot, fact.progress().slot());
  writer.Text(kNode, fact.progress().node());
  writer.Number(kRank, fact.progress().rank());
  writer.Number(kStep, fact.progress().step());
  writer.Close();
  writer.Close();
}

bool ReadProgressLine(std::string_view json, ProgressLine& said) {
  said = {};
  Walker walker(json);
  if (!walker.Open() || !MaybeNumber(walker, kSequence, said.row.sequence)) return false;
  if (walker.Key(kAt) && !ReadInstant(walker, said.row.at)) return false;
  return MaybeNumber(walker, kTrial, said.row.trial) && walker.Key(kProgress) && ReadProgress(walker, said) &&
         walker.Close() && walker.AtEnd();
}

}  // namespace triodrill
