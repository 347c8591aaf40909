#include "coordinator/watch/log_tail.h"

#include <sys/inotify.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "coordinator/watch/followed_file.h"
#include "coordinator/watch/inotify.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr uint32_t kFileEvents = IN_MODIFY;
constexpr uint32_t kDirectoryEvents =
    IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr uint32_t kDirectoryGone = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED;

struct Directory {
  std::string path;
  int watch = -1;
  // Its path may name nothing, or another directory, and no event will say so: it is not watched, or a file that was
  // deleted from it is still held, which keeps a removed directory alive.
  bool doubtful = true;
  std::string problem;
  std::unordered_multimap<std::string, FollowedFile*> files;  // by name
};

struct ByIndex {
  bool operator()(const FollowedFile* a, const FollowedFile* b) const { return a->index() < b->index(); }
};
using FileSet = std::set<FollowedFile*, ByIndex>;

// What one look has to do, gathered before any file is touched.
struct Work {
  FileSet look_up;  // and then read
  FileSet read;
  void LookUpAll(const Directory& directory) {
    for (const auto& [name, file] : directory.files) look_up.insert(file);
  }
};

class InotifyTail final : public LogTail {
 public:
  InotifyTail(Inotify inotify, TailOptions options, Clock& clock)
      : inotify_(std::move(inotify)), options_(options), clock_(clock), buffer_(64 * 1024 + 64) {}

  void Follow(const std::string& path);
  void Begin();

  std::vector<Line> Tick() override;
  TimePoint CaughtUpTo() const override { return caught_up_; }
  TailHealth Health() const override;

 private:
  FollowedFile::Announcer MakeAnnouncer();
  void Take(const FileEvent& event, Work& work);
  void TakeSuspects(Work& work);
  void WatchDirectory(Directory& directory, Work& work);
  void LoseDirectory(Directory& directory);
  void WatchDirectories(bool all, Work& work);
  void ReadWork(Work& work, std::vector<Line>& lines);
  void Scan(const Work& done);
  void SettleAnnouncements();
  void SettleCaughtUp();

  Inotify inotify_;
  const TailOptions options_;
  Clock& clock_;
  std::vector<char> buffer_;
  std::map<std::string, Directory> directories_;
  std::vector<std::unique_ptr<FollowedFile>> files_;
  std::unordered_map<int, std::vector<FollowedFile*>> by_watch_;
  std::unordered_map<int, Directory*> directory_by_watch_;
  FileSet unfinished_;   // the last look left bytes in them
  FileSet suspects_;     // the last scan found bytes; the next look knows whether an event was on its way
  FileSet unannounced_;  // as of the end of the last look
  int directories_doubtful_ = 0;
  TimePoint quiet_{};  // the queue was empty then, and all that it had announced was read
  TimePoint caught_up_{};
  TimePoint next_scan_{};
  int64_t overflows_ = 0;
  int64_t unannounced_finds_ = 0;
  std::string queue_problem_;
};

FollowedFile::Announcer InotifyTail::MakeAnnouncer() {
  return {.watch = [this](const std::string& link, FollowedFile* file) -> Result<int> {
            TRIODRILL_ASSIGN_OR_RETURN(const int watch, inotify_.Watch(link, kFileEvents));
            by_watch_[watch].push_back(file);
            return watch;
          },
          .unwatch =
              [this](int watch, FollowedFile* file) {
                std::vector<FollowedFile*>& files = by_watch_[watch];
                std::erase(files, file);
                if (!files.empty()) return;
                inotify_.Unwatch(watch);
                by_watch_.erase(watch);
              }};
}

void InotifyTail::Follow(const std::string& path) {
  files_.push_back(std::make_unique<FollowedFile>(static_cast<int>(files_.size()), path, MakeAnnouncer()));
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  Directory& directory = directories_[normal.parent_path().string()];
  directory.path = normal.parent_path().string();
  directory.files.emplace(normal.filename().string(), files_.back().get());
}

// Directories first, then files: what appears in between is announced.
void InotifyTail::Begin() {
  quiet_ = clock_.Now();
  Work work;
  WatchDirectories(true, work);
  for (const auto& file : files_) {
    file->LookUp(clock_);
    file->Begin(clock_, options_.from_start);
    if (file->behind()) unfinished_.insert(file.get());
  }
  SettleAnnouncements();
  next_scan_ = quiet_ + options_.scan_every;
}

// A directory that is not (or no longer) watched announces nothing: until its files have been looked at once more,
// their own last look bounds them.
void InotifyTail::WatchDirectory(Directory& directory, Work& work) {
  const TimePoint before = clock_.Now();
  const Result<int> watch = inotify_.Watch(directory.path, kDirectoryEvents);
  if (watch.ok() && *watch == directory.watch) return;
  if (directory.watch >= 0) LoseDirectory(directory);
  directory.problem = "";
  if (!watch.ok()) {
    const bool missing = absl::IsNotFound(watch.status());
    if (!missing) directory.problem = std::string(watch.status().message());
    for (const auto& [name, file] : directory.files) {
      if (missing && !file->is_open() && !file->announced()) file->KnowTo(before);
    }
    return;
  }
  directory.watch = *watch;
  directory_by_watch_[*watch] = &directory;
  work.LookUpAll(directory);
  for (const auto& [name, file] : directory.files) file->SetDirectoryWatched(false);
}

void InotifyTail::LoseDirectory(Directory& directory) {
  inotify_.Unwatch(directory.watch);
  directory_by_watch_.erase(directory.watch);
  directory.watch = -1;
}

void InotifyTail::WatchDirectories(bool all, Work& work) {
  if (!all && directories_doubtful_ == 0) return;
  for (auto& [path, directory] : directories_) {
    if (all || directory.doubtful) WatchDirectory(directory, work);
  }
}

void InotifyTail::Take(const FileEvent& event, Work& work) {
  if (const auto found = by_watch_.find(event.watch); found != by_watch_.end()) {
    work.read.insert(found->second.begin(), found->second.end());
    return;
  }
  const auto found = directory_by_watch_.find(event.watch);
  if (found == directory_by_watch_.end()) return;
  Directory& directory = *found->second;
  if ((event.mask & kDirectoryGone) != 0) {
    for (const auto& [name, file] : directory.files) {
      if (file->announced() && !file->behind()) file->KnowTo(quiet_);
    }
    work.LookUpAll(directory);
    LoseDirectory(directory);
    directory.doubtful = true;
    ++directories_doubtful_;
    return;
  }
  const auto [first, last] = directory.files.equal_range(event.name);
  for (auto named = first; named != last; ++named) work.look_up.insert(named->second);
}

// What the last scan found without an event. By now the event has come, if there is one.
void InotifyTail::TakeSuspects(Work& work) {
  for (FollowedFile* file : suspects_) {
    if (work.read.contains(file) || work.look_up.contains(file)) continue;
    file->Distrust();
    ++unannounced_finds_;
    work.look_up.insert(file);
  }
  suspects_.clear();
}

void InotifyTail::ReadWork(Work& work, std::vector<Line>& lines) {
  for (FollowedFile* file : work.read) {
    if (!file->announced()) work.look_up.insert(file);
  }
  work.read.insert(work.look_up.begin(), work.look_up.end());
  for (FollowedFile* file : work.look_up) file->LookUp(clock_);
  for (FollowedFile* file : work.read) {
    file->Read(clock_, quiet_, options_.bytes_per_look, buffer_, lines);
    if (file->behind()) unfinished_.insert(file);
  }
}

// For what inotify does not announce: network file systems, memory maps, a directory above that was renamed. A file
// that is known not to be announced is read at once.
void InotifyTail::Scan(const Work& done) {
  for (const auto& file : files_) {
    if (done.read.contains(file.get())) continue;
    file->LookUp(clock_);
    if (file->HasGrown()) {
      suspects_.insert(file.get());
    } else if (!file->behind()) {
      file->NothingNew();
    }
  }
}

std::vector<Line> InotifyTail::Tick() {
  const Inotify::Drained drained = inotify_.Drain(clock_);
  queue_problem_ = std::string(drained.status.message());
  Work work;
  work.read = std::exchange(unfinished_, {});
  for (const FileEvent& event : drained.events) Take(event, work);
  TakeSuspects(work);
  const bool scan = clock_.Now() >= next_scan_;
  WatchDirectories(scan || drained.overflowed, work);
  if (scan) work.look_up.insert(unannounced_.begin(), unannounced_.end());
  if (drained.overflowed) {
    // What was lost came after the queue was last seen empty, so the bound holds; only where to look is lost.
    ++overflows_;
    for (const auto& file : files_) work.look_up.insert(file.get());
  }
  std::vector<Line> lines;
  ReadWork(work, lines);
  if (scan) {
    Scan(work);
    next_scan_ = clock_.Now() + options_.scan_every;
  }
  if (drained.emptied) quiet_ = drained.empty_at;
  if (!work.look_up.empty() || scan) SettleAnnouncements();
  SettleCaughtUp();
  return lines;
}

void InotifyTail::SettleAnnouncements() {
  directories_doubtful_ = 0;
  unannounced_.clear();
  for (auto& [path, directory] : directories_) {
    directory.doubtful = directory.watch < 0;
    for (const auto& [name, file] : directory.files) {
      directory.doubtful = directory.doubtful || file->vanished();
      file->SetDirectoryWatched(directory.watch >= 0);
      if (!file->announced()) unannounced_.insert(file);
    }
    directories_doubtful_ += directory.doubtful ? 1 : 0;
  }
}

void InotifyTail::SettleCaughtUp() {
  TimePoint known = quiet_;
  for (const FileSet* files : {&unannounced_, &unfinished_, &suspects_}) {
    for (const FollowedFile* file : *files) known = std::min(known, file->known_to());
  }
  caught_up_ = std::max(caught_up_, known);
}

TailHealth InotifyTail::Health() const {
  TailHealth health;
  health.overflows = overflows_;
  health.unannounced = unannounced_finds_;
  if (!queue_problem_.empty()) health.problems.push_back(queue_problem_);
  for (const auto& [path, directory] : directories_) {
    if (!directory.problem.empty()) health.problems.push_back(directory.problem);
  }
  for (const auto& file : files_) {
    health.lines += file->counts().lines;
    health.cut_lines += file->counts().cut_lines;
    health.replaced_bytes += file->counts().replaced_bytes;
    health.switches += file->switches();
    health.truncations += file->truncations();
    health.files_open += file->is_open() ? 1 : 0;
    if (!file->problem().empty()) health.problems.push_back(file->problem());
  }
  return health;
}

}  // namespace

Result<std::unique_ptr<LogTail>> LogTail::Open(std::vector<std::string> paths, TailOptions options, Clock& clock) {
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  for (const std::string& path : paths) {
    const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
    if (!normal.is_absolute() || !normal.has_filename()) {
      return absl::InvalidArgumentError(Cat("follow \"", path, "\": not the absolute path of a file"));
    }
  }
  TRIODRILL_ASSIGN_OR_RETURN(Inotify inotify, Inotify::Open());
  auto tail = std::make_unique<InotifyTail>(std::move(inotify), options, clock);
  for (const std::string& path : paths) tail->Follow(path);
  tail->Begin();
  return tail;
}

}  // namespace triodrill::watch
