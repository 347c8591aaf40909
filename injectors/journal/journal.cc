#include "injectors/journal/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "injectors/journal/file_calls.h"
#include "injectors/journal/record.h"
#include "injectors/journal/record_file.h"
#include "injectors/os/fd.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr std::string_view kSuffix = ".undo";
constexpr std::string_view kAside = ".tmp";
constexpr std::string_view kTraceSuffix = ".gone";

std::string FileName(const std::string& shot) { return Cat(shot, kSuffix); }
std::string TraceName(const std::string& shot) { return Cat(shot, kTraceSuffix); }

Result<UniqueFd> OpenDirectory(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open undo journal", directory);
  return fd;
}

Status Lock(int fd, const std::string& directory, bool wait) {
  int locked = 0;
  do {
    locked = ::flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked == 0) return Ok();
  if (errno == EWOULDBLOCK) {
    return absl::UnavailableError(
        Cat("lock undo journal ", directory, ": another process has it; an agent or triodrill-undo runs on it"));
  }
  return ErrnoStatus("lock undo journal", directory);
}

// Newest first.
Result<std::vector<v1::Discharged>> ReadTraceFiles(const std::string& directory) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  std::vector<v1::Discharged> traces;
  for (const std::string& name : names) {
    if (name.starts_with('.') || !name.ends_with(kTraceSuffix)) continue;
    const Result<std::string> bytes = ReadFile(Cat(directory, "/", name));
    Result<v1::Discharged> trace = bytes.ok() ? DecodeTraceFile(*bytes) : Result<v1::Discharged>(bytes.status());
    if (trace.ok() && TraceName(trace->shot()) == name) traces.push_back(*std::move(trace));
  }
  std::sort(traces.begin(), traces.end(), [](const v1::Discharged& a, const v1::Discharged& b) {
    return std::make_pair(b.wall_ns(), b.shot()) < std::make_pair(a.wall_ns(), a.shot());
  });
  return traces;
}

class DirectoryJournal final : public UndoJournal {
 public:
  DirectoryJournal(std::string directory, UniqueFd fd, const FileCalls& calls)
      : directory_(std::move(directory)), fd_(std::move(fd)), calls_(calls) {}

  Status Record(const v1::UndoRecord& record) override;
  Status Discharge(const std::string& shot) override;
  Status Trace(const v1::Discharged& trace) override;
  std::vector<Entry> List() const override;

  // A file aside was never renamed: nothing was armed under it.
  Status RemoveLeftovers();

 private:
  Status CheckFree(const v1::UndoRecord& record) const;
  Status WriteAside(const std::string& name, const std::string& bytes);

  const std::string directory_;
  const UniqueFd fd_;
  const FileCalls calls_;
  bool broken_ = false;  // an fsync failed: what is on disk is not known any more
};

Status DirectoryJournal::CheckFree(const v1::UndoRecord& record) const {
  if (record.resource().empty()) return absl::InvalidArgumentError("record an undo: the record names no resource");
  for (const Entry& entry : List()) {
    if (!entry.record.ok()) {
      return absl::FailedPreconditionError(Cat("record an undo: ", directory_, "/", entry.file, ": ",
                                               entry.record.status().message(),
                                               "; nothing is armed beside it: settle it with triodrill-undo first"));
    }
    const std::string shared = SharedResource(*entry.record, record);
    if (entry.record->fault().shot() == record.fault().shot() || !shared.empty()) {
      return absl::AlreadyExistsError(Cat("record an undo for ", record.resource(), ": shot ",
                                          entry.record->fault().shot(), " is open on ",
                                          shared.empty() ? entry.record->resource() : shared));
    }
  }
  return Ok();
}

Status DirectoryJournal::WriteAside(const std::string& name, const std::string& bytes) {
  const std::string object = Cat(directory_, "/", name);
  const UniqueFd file(calls_.open(fd_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return ErrnoStatus("create undo record", object);
  Step("journal: file made aside");
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = calls_.write(file.get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return ErrnoStatus("write undo record", object);
    if (wrote == 0) return absl::ResourceExhaustedError(Cat("write undo record ", object, ": no byte was taken"));
    done += static_cast<size_t>(wrote);
  }
  Step("journal: file written aside");
  if (calls_.sync(file.get()) != 0) {
    broken_ = true;
    return ErrnoStatus("fsync undo record", object);
  }
  Step("journal: file synced aside");
  return Ok();
}

Status DirectoryJournal::Record(const v1::UndoRecord& record) {
  const std::string& shot = record.fault().shot();
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(shot));
  if (broken_) {
    return absl::FailedPreconditionError(
        Cat("record an undo in ", directory_, ": an fsync failed before; check the disk and start the agent anew"));
  }
  TRIODRILL_RETURN_IF_ERROR(CheckFree(record));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string bytes, EncodeRecordFile(record));
  const std::string name = FileName(shot);
  const std::string aside = Cat(".", shot, kAside);
  absl::Cleanup remove_aside = [&] { calls_.unlink(fd_.get(), aside.c_str()); };
  TRIODRILL_RETURN_IF_ERROR(WriteAside(aside, bytes));
  if (calls_.rename(fd_.get(), aside.c_str(), name.c_str()) != 0) {
    return ErrnoStatus("rename undo record into", Cat(directory_, "/", name));
  }
  std::move(remove_aside).Cancel();
  Step("journal: renamed");
  if (calls_.sync(fd_.get()) == 0) return Ok();
  broken_ = true;
  Status failed = ErrnoStatus("fsync undo journal", directory_);
  // Nothing will be applied under it. If this fails too, the replay finds a record without an effect: harmless.
  calls_.unlink(fd_.get(), name.c_str());
  return failed;
}

Status DirectoryJournal::Discharge(const std::string& shot) {
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(shot));
  const std::string name = FileName(shot);
  if (calls_.unlink(fd_.get(), name.c_str()) != 0)
    return ErrnoStatus("discharge undo record", Cat(directory_, "/", name));
  Step("journal: unlinked");
  if (calls_.sync(fd_.get()) == 0) return Ok();
  broken_ = true;
  return ErrnoStatus("fsync undo journal", directory_);
}

Status DirectoryJournal::Trace(const v1::Discharged& trace) {
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(trace.shot()));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string bytes, EncodeTraceFile(trace));
  const std::string aside = Cat(".", trace.shot(), kTraceSuffix, kAside);
  absl::Cleanup remove_aside = [&] { calls_.unlink(fd_.get(), aside.c_str()); };
  TRIODRILL_RETURN_IF_ERROR(WriteAside(aside, bytes));
  if (calls_.rename(fd_.get(), aside.c_str(), TraceName(trace.shot()).c_str()) != 0) {
    return ErrnoStatus("rename trace into", Cat(directory_, "/", TraceName(trace.shot())));
  }
  std::move(remove_aside).Cancel();
  Step("journal: trace left");
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<v1::Discharged> traces, ReadTraceFiles(directory_));
  for (size_t i = kMostTraces; i < traces.size(); ++i) calls_.unlink(fd_.get(), TraceName(traces[i].shot()).c_str());
  if (calls_.sync(fd_.get()) == 0) return Ok();
  return ErrnoStatus("fsync undo journal", directory_);
}

std::vector<UndoJournal::Entry> DirectoryJournal::List() const {
  Result<std::vector<Entry>> entries = ReadJournal(directory_);
  // A directory that cannot be listed hides records: it counts as one that cannot be read, and arms nothing.
  if (!entries.ok()) return {Entry{"", entries.status()}};
  return *std::move(entries);
}

Status DirectoryJournal::RemoveLeftovers() {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory_));
  for (const std::string& name : names) {
    if (!name.starts_with('.') || !name.ends_with(kAside)) continue;
    if (calls_.unlink(fd_.get(), name.c_str()) != 0)
      return ErrnoStatus("remove unfinished record", Cat(directory_, "/", name));
  }
  return Ok();
}

Result<std::unique_ptr<UndoJournal>> OpenJournal(const std::string& directory, const FileCalls& calls, bool wait) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus("make undo journal", directory);
  TRIODRILL_ASSIGN_OR_RETURN(UniqueFd fd, OpenDirectory(directory));
  TRIODRILL_RETURN_IF_ERROR(Lock(fd.get(), directory, wait));
  auto journal = std::make_unique<DirectoryJournal>(directory, std::move(fd), calls);
  TRIODRILL_RETURN_IF_ERROR(journal->RemoveLeftovers());
  return journal;
}

}  // namespace

const FileCalls& SystemFileCalls() {
  static const FileCalls* const calls = new FileCalls{
      [](int directory, const char* name, int flags, mode_t mode) { return ::openat(directory, name, flags, mode); },
      [](int fd, const void* bytes, size_t size) { return ::write(fd, bytes, size); },
      [](int fd) { return ::fsync(fd); },
      [](int directory, const char* from, const char* to) { return ::renameat(directory, from, directory, to); },
      [](int directory, const char* name) { return ::unlinkat(directory, name, 0); },
  };
  return *calls;
}

Result<std::unique_ptr<UndoJournal>> UndoJournal::Open(const std::string& directory) {
  return OpenJournal(directory, SystemFileCalls(), false);
}

Result<std::unique_ptr<UndoJournal>> UndoJournal::Open(const std::string& directory, const FileCalls& calls) {
  return OpenJournal(directory, calls, false);
}

Result<std::unique_ptr<UndoJournal>> UndoJournal::OpenWaiting(const std::string& directory) {
  return OpenJournal(directory, SystemFileCalls(), true);
}

Result<std::vector<v1::Discharged>> ReadTraces(const std::string& directory) {
  TRIODRILL_ASSIGN_OR_RETURN(std::vector<v1::Discharged> traces, ReadTraceFiles(directory));
  std::erase_if(traces, [&](const v1::Discharged& trace) {
    return ::access(Cat(directory, "/", FileName(trace.shot())).c_str(), F_OK) == 0;
  });
  return traces;
}

Result<std::vector<UndoJournal::Entry>> ReadJournal(const std::string& directory) {
  TRIODRILL_ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(directory));
  std::sort(names.begin(), names.end());
  std::vector<UndoJournal::Entry> entries;
  for (const std::string& name : names) {
    if (name.starts_with('.') || !name.ends_with(kSuffix)) continue;
    const Result<std::string> bytes = ReadFile(Cat(directory, "/", name));
    if (absl::IsNotFound(bytes.status())) continue;  // discharged while we looked
    Result<v1::UndoRecord> record = bytes.ok() ? DecodeRecordFile(*bytes) : Result<v1::UndoRecord>(bytes.status());
    if (record.ok() && FileName(record->fault().shot()) != name) {
      record = absl::DataLossError(Cat("undo record is unreadable: it is of shot ", record->fault().shot()));
    }
    entries.push_back({name, std::move(record)});
  }
  return entries;
}

}  // namespace triodrill
