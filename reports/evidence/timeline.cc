#include "reports/evidence/timeline.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "absl/memory/memory.h"
#include "reports/evidence/files.h"
#include "reports/evidence/progress_line.h"
#include "reports/evidence/timeline_reader.h"
#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

constexpr size_t kGroupBytes = size_t{64} << 10;
constexpr size_t kDigestLength = 64;
constexpr std::string_view kChainKey = ",\"prev\":\"";
constexpr std::string_view kChainEnd = "\"}";
constexpr size_t kLongestLine = size_t{16} << 20;
constexpr size_t kSuffixLength = kChainKey.size() + kDigestLength + kChainEnd.size();

std::string Genesis() { return std::string(kDigestLength, '0'); }

Status InOrder(const Instant& at) {
  if (at.earliest <= at.latest) return Ok();
  return absl::InvalidArgumentError(
      absl::StrCat("fact ends at ", ToNanos(at.latest), " ns, before it begins at ", ToNanos(at.earliest), " ns"));
}

Status Sound(const v1::Fact& fact) {
  TRIODRILL_RETURN_IF_ERROR(InOrder(ToInstant(fact.at())));
  if (fact.what_case() == v1::Fact::WHAT_NOT_SET) return absl::InvalidArgumentError("fact says nothing");
  return Ok();
}

Status Corrupt(int64_t line, const std::string& what) {
  return absl::DataLossError(absl::StrCat("timeline line ", line, ": ", what,
                                          "; the file was changed after it was written, judge another copy"));
}

void JudgeCompleteness(Timeline& timeline) {
  if (!timeline.problem.empty()) return;
  timeline.complete = timeline.EndsWithRunEnded();
  if (!timeline.complete) timeline.problem = "it does not end with RunEnded: its writer died before the run was over";
}

// One whole line; `previous` becomes its digest, and `json` the fact that it holds.
Status Unchain(std::string_view line, int64_t number, std::string& previous, std::string& json) {
  if (line.size() <= kSuffixLength) return Corrupt(number, "too short to be a fact");
  const std::string_view suffix = line.substr(line.size() - kSuffixLength);
  if (!suffix.starts_with(kChainKey) || !suffix.ends_with(kChainEnd)) {
    return Corrupt(number, "does not end with \"prev\", the digest of the line before");
  }
  if (suffix.substr(kChainKey.size(), kDigestLength) != previous) {
    return Corrupt(number, "\"prev\" is not the digest of the line before");
  }
  previous = Sha256Hex(line);
  json.assign(line.substr(0, line.size() - kSuffixLength)).push_back('}');
  return Ok();
}

Status InPlace(int64_t sequence, int64_t number) {
  if (sequence == number - 1) return Ok();
  return Corrupt(number, absl::StrCat("sequence ", sequence, " where ", number - 1, " belongs"));
}

Status AddProgress(const ProgressLine& said, int64_t number, ProgressTable& progress) {
  TRIODRILL_RETURN_IF_ERROR(InPlace(said.row.sequence, number));
  if (Status sound = InOrder(said.row.at); !sound.ok()) return Corrupt(number, std::string(sound.message()));
  progress.Add(said.row, said.slot, said.node, said.rank);
  return Ok();
}

Status AddFact(const std::string& json, int64_t number, Timeline& timeline) {
  v1::Fact fact;
  if (Status read = FromJson(json, fact); !read.ok()) return Corrupt(number, std::string(read.message()));
  TRIODRILL_RETURN_IF_ERROR(InPlace(fact.sequence(), number));
  if (Status sound = Sound(fact); !sound.ok()) return Corrupt(number, std::string(sound.message()));
  timeline.Add(std::move(fact));
  return Ok();
}

}  // namespace

Instant ToInstant(const v1::Instant& instant) {
  return {FromNanos(instant.earliest_ns()), FromNanos(instant.latest_ns())};
}

void Timeline::Add(v1::Fact fact) {
  if (!fact.has_progress()) return facts.push_back(std::move(fact));
  const v1::Progress& said = fact.progress();
  progress.Add({.sequence = fact.sequence(), .at = ToInstant(fact.at()), .step = said.step(), .trial = fact.trial()},
               said.slot(), said.node(), said.rank());
}

bool Timeline::EndsWithRunEnded() const {
  return !facts.empty() && facts.back().has_run_ended() &&
         (progress.empty() || progress.rows().back().sequence < facts.back().sequence());
}

Status MemorySink::Append(v1::Fact fact) {
  TRIODRILL_RETURN_IF_ERROR(Sound(fact));
  fact.set_sequence(static_cast<int64_t>(facts_.size()));
  facts_.push_back(std::move(fact));
  return Ok();
}

Timeline MemorySink::Snapshot() const {
  Timeline timeline;
  for (const v1::Fact& fact : facts_) timeline.Add(fact);
  JudgeCompleteness(timeline);
  return timeline;
}

TimelineWriter::TimelineWriter(int fd, std::string path) : fd_(fd), path_(std::move(path)), previous_(Genesis()) {}

Result<std::unique_ptr<TimelineWriter>> TimelineWriter::Create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus("create timeline", path);
  return absl::WrapUnique(new TimelineWriter(fd, path));
}

TimelineWriter::~TimelineWriter() {
  Flush().IgnoreError();
  ::close(fd_);
}

Status TimelineWriter::Append(v1::Fact fact) {
  TRIODRILL_RETURN_IF_ERROR(broken_);
  TRIODRILL_RETURN_IF_ERROR(Sound(fact));
  fact.set_sequence(next_++);
  const size_t begin = pending_.size();
  fact.has_progress() ? AppendProgressFact(fact, pending_) : AppendJson(fact, pending_);
  pending_.pop_back();  // the closing brace: one more member follows (a sound fact has at least one before it)
  pending_.append(kChainKey).append(previous_).append(kChainEnd);
  previous_ = Sha256Hex(std::string_view(pending_).substr(begin));
  pending_.push_back('\n');
  return pending_.size() < kGroupBytes ? Ok() : Flush();
}

Status TimelineWriter::Flush() {
  TRIODRILL_RETURN_IF_ERROR(broken_);
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return broken_ = ErrnoStatus("write timeline", path_);
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  pending_.clear();
  return Ok();
}

Status TimelineWriter::Sync() {
  TRIODRILL_RETURN_IF_ERROR(Flush());
  if (::fdatasync(fd_) != 0) return broken_ = ErrnoStatus("sync timeline", path_);
  return Ok();
}

TimelineReader::TimelineReader() : previous_(Genesis()) {}

Status TimelineReader::Line(std::string_view line) {
  TRIODRILL_RETURN_IF_ERROR(Unchain(line, ++number_, previous_, json_));
  ProgressLine said;
  return ReadProgressLine(json_, said) ? AddProgress(said, number_, timeline_.progress)
                                       : AddFact(json_, number_, timeline_);
}

Status TimelineReader::Add(std::string_view piece) {
  for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    if (cut_.empty()) {
      TRIODRILL_RETURN_IF_ERROR(Line(piece.substr(0, end)));
    } else {
      cut_ += piece.substr(0, end);
      TRIODRILL_RETURN_IF_ERROR(Line(cut_));
      cut_.clear();
    }
    piece.remove_prefix(end + 1);
  }
  cut_ += piece;
  return cut_.size() <= kLongestLine ? Ok() : Corrupt(number_ + 1, "longer than any fact");
}

Result<Timeline> TimelineReader::Finish() {
  if (!cut_.empty()) {
    timeline_.problem = absl::StrCat("line ", number_ + 1, " is cut: its writer died while writing it");
  }
  JudgeCompleteness(timeline_);
  return std::move(timeline_);
}

Result<Timeline> ParseTimeline(std::string_view text) {
  TimelineReader reader;
  TRIODRILL_RETURN_IF_ERROR(reader.Add(text));
  return reader.Finish();
}

Result<Timeline> ReadTimeline(const std::string& path, std::string* head) {
  const auto named = [&](const Status& status) {
    return status.ok() ? status : Status(status.code(), absl::StrCat(path, ": ", status.message()));
  };
  TimelineReader reader;
  TRIODRILL_RETURN_IF_ERROR(ReadFileInPieces(path, [&](std::string_view piece) { return named(reader.Add(piece)); }));
  if (head != nullptr) *head = reader.head();
  Result<Timeline> timeline = reader.Finish();
  if (!timeline.ok()) return named(timeline.status());
  return timeline;
}

}  // namespace triodrill
