#include "coordinator/watch/followed_file.h"
#include "triodrill/text.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace triodrill::watch {
namespace {

// Enough to tell that a file which was truncated and has grown again is not the one that was read: log lines differ
// within their last bytes by a step, a pid or a time.
constexpr size_t kRemembered = 64;

void Remember(std::string& remembered, std::string_view fresh) {
  if (fresh.size() >= kRemembered) {
    remembered = fresh.substr(fresh.size() - kRemembered);
    return;
  }
  remembered += fresh;
  if (remembered.size() > kRemembered) remembered.erase(0, remembered.size() - kRemembered);
}

int64_t SizeOf(const UniqueFd& fd) {
  struct stat seen {};
  return fstat(fd.get(), &seen) == 0 ? seen.st_size : 0;
}

}  // namespace

FollowedFile::FollowedFile(int index, std::string path, Announcer announcer)
    : index_(index), path_(std::move(path)), announcer_(std::move(announcer)), splitter_(path_) {}

// nullopt: there is no such file. The file is not waited for (a FIFO would be).
Result<std::optional<FollowedFile::OpenFile>> FollowedFile::OpenNamed() const {
  OpenFile file;
  file.fd = UniqueFd(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.fd.valid()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return ErrnoStatus("open", path_);
  }
  struct stat seen {};
  if (fstat(file.fd.get(), &seen) != 0) return ErrnoStatus("stat", path_);
  if (!S_ISREG(seen.st_mode)) {
    return absl::InvalidArgumentError(Cat("follow ", path_, ": not a regular file; name a log file"));
  }
  file.id = {.device = seen.st_dev, .inode = seen.st_ino};
  return file;
}

void FollowedFile::LookUp(Clock& clock) {
  looked_up_at_ = clock.Now();
  Result<std::optional<OpenFile>> named = OpenNamed();
  problem_ = named.ok() ? "" : std::string(named.status().message());
  if (!named.ok()) return;
  named_ = named->has_value();
  std::vector<FileId> held;
  for (const OpenFile& file : open_) held.push_back(file.id);
  std::optional<FileId> id;
  if (named_) id = (*named)->id;
  if (Look(held, id) == Naming::kOther) Hold(*std::move(*named));
}

void FollowedFile::Hold(OpenFile file) {
  const Result<int> watch = announcer_.watch(Cat("/proc/self/fd/", file.fd.get()), this);
  watched_ = watch.ok();
  if (watch.ok()) file.watch = *watch;
  if (!watch.ok()) problem_ = Cat(watch.status().message(), " for ", path_, ": looked at once a second only");
  open_.push_back(std::move(file));
}

void FollowedFile::Begin(Clock& clock, bool from_start) {
  known_to_ = looked_up_at_;
  if (open_.empty()) return;
  if (from_start) {
    behind_ = true;
    known_to_ = TimePoint{};
    return;
  }
  OpenFile& file = open_.front();
  known_to_ = clock.Now();
  file.offset = SizeOf(file.fd);
  char last[kRemembered];
  const auto want = std::min<int64_t>(file.offset, sizeof(last));
  const ssize_t got = pread(file.fd.get(), last, static_cast<size_t>(want), file.offset - want);
  file.remembered.assign(last, got > 0 ? static_cast<size_t>(got) : 0);
  splitter_.BeginAt(file.offset, !file.remembered.empty() && file.remembered.back() != '\n');
}

bool FollowedFile::HasGrown() const {
  if (open_.empty()) return false;
  return SizeOf(open_.front().fd) != open_.front().offset ||
         std::any_of(open_.begin() + 1, open_.end(), [](const OpenFile& file) { return SizeOf(file.fd) > 0; });
}

void FollowedFile::Read(Clock& clock, TimePoint quiet, int64_t most, std::vector<char>& buffer,
                        std::vector<Line>& lines) {
  // What an earlier look left unread is older than `quiet`.
  const TimePoint lower = announced() && !behind_ ? quiet : known_to_;
  if (open_.empty()) {
    NothingNew();
    return;
  }
  int times_truncated = 0;
  while (most > 0) {
    switch (ReadOnce(clock, lower, buffer, lines, most)) {
      case Outcome::kMore:
        break;
      case Outcome::kTruncated:
        StartOver(lines);
        // A file that is rewritten as fast as it is read is left to the next look.
        if (++times_truncated > 2) most = 0;
        break;
      case Outcome::kEnd:
        if (SwitchIfReplaced(lines)) break;
        behind_ = false;
        NothingNew();
        return;
    }
  }
  behind_ = true;
  known_to_ = lower;
}

// One pread: it begins at the bytes remembered, so that it tells also whether they are still there.
FollowedFile::Outcome FollowedFile::ReadOnce(Clock& clock, TimePoint lower, std::vector<char>& buffer,
                                             std::vector<Line>& lines, int64_t& most) {
  OpenFile& file = open_.front();
  const size_t remembered = file.remembered.size();
  const ssize_t size =
      pread(file.fd.get(), buffer.data(), buffer.size(), file.offset - static_cast<int64_t>(remembered));
  const TimePoint after = clock.Now();
  if (size < 0) {
    if (errno == EINTR) return Outcome::kMore;
    problem_ = std::string(ErrnoStatus("read", path_).message());
    return Outcome::kEnd;
  }
  const std::string_view read(buffer.data(), static_cast<size_t>(size));
  if (Rewritten(file.remembered, read)) return Outcome::kTruncated;
  const std::string_view fresh = read.substr(remembered);
  splitter_.Feed(fresh, {.earliest = lower, .latest = after}, lines);
  Remember(file.remembered, fresh);
  file.offset += static_cast<int64_t>(fresh.size());
  most -= static_cast<int64_t>(fresh.size());
  // A short read of a regular file ends at its end.
  return read.size() == buffer.size() ? Outcome::kMore : Outcome::kEnd;
}

void FollowedFile::StartOver(std::vector<Line>& lines) {
  ++truncations_;
  splitter_.EndOfFile(lines);
  open_.front().offset = 0;
  open_.front().remembered.clear();
}

bool FollowedFile::SwitchIfReplaced(std::vector<Line>& lines) {
  if (open_.size() == 1) return false;
  std::vector<int64_t> sizes;
  for (auto file = open_.begin() + 1; file != open_.end(); ++file) sizes.push_back(SizeOf(file->fd));
  const size_t let_go = LetGo(sizes);
  for (size_t i = 0; i < let_go; ++i) {
    if (open_.front().watch >= 0) announcer_.unwatch(open_.front().watch, this);
    open_.pop_front();
  }
  if (let_go > 0) {
    splitter_.EndOfFile(lines);
    ++switches_;
  }
  return let_go > 0;
}

}  // namespace triodrill::watch
