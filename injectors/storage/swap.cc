#include "injectors/storage/swap.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include "absl/strings/str_split.h"
#include "injectors/os/step.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr int kDeepest = 4;
constexpr int kMostDirectories = 10'000;
constexpr size_t kLongestName = 255;

std::string HiddenPrefix(const std::string& token) { return Cat(".triodrill-", token, "."); }
std::string CopyName(const std::string& token, const std::string& name) {
  return Cat(HiddenPrefix(token), "copy.", name);
}
std::string KeptName(const std::string& token, const std::string& name) {
  return Cat(HiddenPrefix(token), "kept.", name);
}

Result<std::optional<struct stat>> LookAt(int directory, const std::string& name) {
  struct stat seen {};
  if (::fstatat(directory, name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) == 0) return std::optional<struct stat>(seen);
  if (errno == ENOENT) return std::optional<struct stat>();
  return ErrnoStatus("look at", name);
}

// Names in a directory, without "." and "..".
Result<std::vector<std::string>> NamesIn(int directory) {
  const int again = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return ErrnoStatus("list", "a directory");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(again), &::closedir);
  if (!stream) {
    ::close(again);
    return ErrnoStatus("list", "a directory");
  }
  std::vector<std::string> names;
  errno = 0;
  // One stream, one thread: readdir is safe here.
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  if (errno != 0) return ErrnoStatus("list", "a directory");
  std::sort(names.begin(), names.end());
  return names;
}

Status SyncDirectory(int directory) {
  const UniqueFd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return ErrnoStatus("fsync", "the directory of the damaged file");
  return Ok();
}

Status Remove(int directory, const std::string& name) {
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return Ok();
  return ErrnoStatus("remove", name);
}

Status Exchange(int directory, const std::string& one, const std::string& other) {
  if (::renameat2(directory, one.c_str(), directory, other.c_str(), RENAME_EXCHANGE) == 0) return Ok();
  return ErrnoStatus(Cat("exchange ", one, " and"), other);
}

Result<UniqueFd> OpenFile(int directory, const std::string& name, int flags, mode_t mode = 0) {
  UniqueFd fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode));
  if (!fd.valid()) return ErrnoStatus("open", name);
  return fd;
}

// As the original in everything but its bytes.
Status MakeCopy(const FileBelow& file, const std::string& copy_name, const Damage& damage) {
  TRIODRILL_ASSIGN_OR_RETURN(const UniqueFd from, OpenFile(file.directory.get(), file.name, O_RDONLY));
  struct stat seen {};
  if (::fstat(from.get(), &seen) != 0) return ErrnoStatus("look at", file.name);
  if (!S_ISREG(seen.st_mode) || seen.st_size == 0) {
    return absl::FailedPreconditionError(Cat("damage ", file.name, ": it is empty, or no plain file"));
  }
  if (seen.st_size > kLargestDamaged) {
    return absl::FailedPreconditionError(
        Cat("damage ", file.name, ": it has ", seen.st_size, " bytes, more than ", kLargestDamaged));
  }
  TRIODRILL_ASSIGN_OR_RETURN(const UniqueFd to,
                             OpenFile(file.directory.get(), copy_name, O_RDWR | O_CREAT | O_EXCL, 0600));
  Step("storage: copy made");
  TRIODRILL_RETURN_IF_ERROR(CopyDamaged(from.get(), to.get(), seen.st_size, damage));
  const bool another_owner = seen.st_uid != ::geteuid() || seen.st_gid != ::getegid();
  if (another_owner && ::fchown(to.get(), seen.st_uid, seen.st_gid) != 0) return ErrnoStatus("chown", copy_name);
  const timespec times[2] = {seen.st_atim, seen.st_mtim};
  if (::fchmod(to.get(), seen.st_mode & 07777) != 0 || ::futimens(to.get(), times) != 0 || ::fsync(to.get()) != 0) {
    return ErrnoStatus("finish", copy_name);
  }
  Step("storage: copy written");
  return Ok();
}

// Calls `see` for `base` and every directory below it.
Status Walk(int base, int depth, int* left, const std::function<Status(int directory)>& see) {
  TRIODRILL_RETURN_IF_ERROR(see(base));
  if (depth == 0) return Ok();
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(base));
  for (const std::string& name : names) {
    const UniqueFd inner(::openat(base, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner.valid()) {
      if (errno == ENOTDIR || errno == ENOENT || errno == ELOOP) continue;
      return ErrnoStatus("open", name);
    }
    if (--*left < 0)
      return absl::OutOfRangeError(Cat("look for hidden files: more than ", kMostDirectories, " folders"));
    TRIODRILL_RETURN_IF_ERROR(Walk(inner.get(), depth - 1, left, see));
  }
  return Ok();
}

class NewestSearch {
 public:
  explicit NewestSearch(const std::string& pattern) : parts_(absl::StrSplit(pattern, '/', absl::SkipEmpty())) {}

  Status In(int directory, size_t part, const std::string& path) {
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(directory));
    for (const std::string& name : names) {
      if (::fnmatch(parts_[part].c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
      if (part + 1 == parts_.size()) {
        TRIODRILL_RETURN_IF_ERROR(Consider(directory, name, Cat(path, "/", name)));
        continue;
      }
      const UniqueFd inner(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (inner.valid()) TRIODRILL_RETURN_IF_ERROR(In(inner.get(), part + 1, Cat(path, "/", name)));
    }
    return Ok();
  }

  bool empty() const { return parts_.empty(); }
  std::optional<FileBelow> Take() { return std::move(best_); }

 private:
  Status Consider(int directory, const std::string& name, const std::string& path) {
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<struct stat> seen, LookAt(directory, name));
    if (!seen.has_value() || !S_ISREG(seen->st_mode)) return Ok();
    const std::pair<int64_t, std::string> rank{int64_t{seen->st_mtim.tv_sec} * 1'000'000'000 + seen->st_mtim.tv_nsec,
                                               path};
    if (best_.has_value() && rank <= best_rank_) return Ok();
    UniqueFd held(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!held.valid()) return ErrnoStatus("open the folder of", path);
    best_ = FileBelow{std::move(held), name};
    best_rank_ = rank;
    return Ok();
  }

  const std::vector<std::string> parts_;
  std::optional<FileBelow> best_;
  std::pair<int64_t, std::string> best_rank_;
};

}  // namespace

Result<UniqueFd> OpenBelow(int base, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::string name = path.empty() ? "." : path;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, base, name.c_str(), &how, sizeof(how))));
  if (!fd.valid()) return ErrnoStatus("open the directory (no way out of it, no symbolic links)", name);
  return fd;
}

Result<std::optional<FileBelow>> FindNewest(int base, const std::string& pattern) {
  NewestSearch search(pattern);
  if (search.empty()) return absl::InvalidArgumentError("find the newest file: the pattern is empty");
  TRIODRILL_RETURN_IF_ERROR(search.In(base, 0, ""));
  return search.Take();
}

Status SwapIn(const FileBelow& file, const std::string& token, const Damage& damage) {
  const int directory = file.directory.get();
  const std::string copy = CopyName(token, file.name);
  const std::string kept = KeptName(token, file.name);
  if (kept.size() > kLongestName) {
    return absl::InvalidArgumentError(Cat("damage ", file.name, ": its hidden name would be too long"));
  }
  TRIODRILL_RETURN_IF_ERROR(MakeCopy(file, copy, damage));
  if (::linkat(directory, copy.c_str(), directory, kept.c_str(), 0) != 0)
    return ErrnoStatus("give a second name to", copy);
  Step("storage: second name given");
  TRIODRILL_RETURN_IF_ERROR(SyncDirectory(directory));
  TRIODRILL_RETURN_IF_ERROR(Exchange(directory, kept, file.name));
  Step("storage: exchanged");
  return SyncDirectory(directory);
}

Result<std::vector<HiddenPair>> FindHidden(int base, const std::string& token) {
  std::vector<HiddenPair> pairs;
  int left = kMostDirectories;
  const std::string prefix = HiddenPrefix(token);
  const auto see = [&](int directory) -> Status {
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(directory));
    std::vector<std::string> mine;
    for (const std::string& name : names) {
      if (name.starts_with(prefix) && name.size() > prefix.size() + 5) mine.push_back(name.substr(prefix.size() + 5));
    }
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    for (const std::string& name : mine) {
      HiddenPair& pair = pairs.emplace_back();
      pair.file.directory.Reset(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!pair.file.directory.valid()) return ErrnoStatus("open the folder of", name);
      pair.file.name = name;
      TRIODRILL_ASSIGN_OR_RETURN(pair.now, LookAt(directory, name));
      TRIODRILL_ASSIGN_OR_RETURN(pair.copy, LookAt(directory, CopyName(token, name)));
      TRIODRILL_ASSIGN_OR_RETURN(pair.kept, LookAt(directory, KeptName(token, name)));
    }
    return Ok();
  };
  TRIODRILL_RETURN_IF_ERROR(Walk(base, kDeepest, &left, see));
  return pairs;
}

Result<Difference> Compare(const HiddenPair& pair, const std::string& token, const Damage& damage) {
  const int directory = pair.file.directory.get();
  TRIODRILL_ASSIGN_OR_RETURN(const UniqueFd shown, OpenFile(directory, pair.file.name, O_RDONLY));
  TRIODRILL_ASSIGN_OR_RETURN(const UniqueFd kept, OpenFile(directory, KeptName(token, pair.file.name), O_RDONLY));
  struct stat is {};
  struct stat was {};
  if (::fstat(shown.get(), &is) != 0 || ::fstat(kept.get(), &was) != 0) return ErrnoStatus("look at", pair.file.name);
  if (is.st_size != was.st_size) {
    return Difference{true, Cat("in its size: ", is.st_size, " bytes, not ", was.st_size)};
  }
  if (is.st_size == 0) return Difference{};
  const DamagedRange range = RangeOf(damage, is.st_size);
  std::array<char, 65536> now;
  std::array<char, 65536> before;
  for (int64_t at = range.offset; at < range.offset + range.count;) {
    const auto want = std::min<size_t>(now.size(), static_cast<size_t>(range.offset + range.count - at));
    const ssize_t got = ::pread(shown.get(), now.data(), want, at);
    if (got <= 0) return ErrnoStatus("read", pair.file.name);
    if (::pread(kept.get(), before.data(), static_cast<size_t>(got), at) != got) {
      return ErrnoStatus("read the original of", pair.file.name);
    }
    const auto found = std::mismatch(now.begin(), now.begin() + got, before.begin());
    if (found.first != now.begin() + got) return Difference{true, Cat("at byte ", at + (found.first - now.begin()))};
    at += got;
  }
  return Difference{};
}

Status PutBack(const HiddenPair& pair, const std::string& token, bool writes_stand) {
  const int directory = pair.file.directory.get();
  const std::string& name = pair.file.name;
  const std::string copy = CopyName(token, name);
  const std::string kept = KeptName(token, name);
  if (!pair.copy.has_value() && pair.kept.has_value()) {
    return absl::FailedPreconditionError(
        Cat("put back ", name, ": ", copy, " is gone, so ", kept, " may be the original or not; compare them by hand"));
  }
  if (pair.InPlace() && !(writes_stand && pair.WrittenSince())) {
    TRIODRILL_RETURN_IF_ERROR(Exchange(directory, kept, name));
    Step("storage: exchanged back");
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<struct stat> out, LookAt(directory, kept));
    // The job replaced the file in between: what it wrote stands.
    if (out.has_value() && out->st_ino != pair.copy->st_ino) TRIODRILL_RETURN_IF_ERROR(Exchange(directory, kept, name));
  } else if (pair.Exchanged() && !pair.now.has_value() && pair.copy->st_nlink > 1) {
    // The job put the copy aside under another name, as one does with a damaged file.
    if (::renameat2(directory, kept.c_str(), directory, name.c_str(), RENAME_NOREPLACE) != 0 && errno != EEXIST) {
      return ErrnoStatus(Cat("rename ", kept, " to"), name);
    }
    Step("storage: original renamed back");
  }
  TRIODRILL_RETURN_IF_ERROR(Remove(directory, kept));
  Step("storage: kept name removed");
  // Last, for it is what tells the two apart.
  TRIODRILL_RETURN_IF_ERROR(Remove(directory, copy));
  Step("storage: copy removed");
  return SyncDirectory(directory);
}

}  // namespace triodrill
