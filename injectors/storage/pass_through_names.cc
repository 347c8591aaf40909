// Names and what is said of files: look up, make, remove, rename, list; attributes.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "injectors/storage/pass_through_ops.h"
#include "triodrill/text.h"

namespace triodrill {

int LookUp(PassThrough& overlay, fuse_ino_t parent, const char* name, fuse_entry_param* entry) {
  *entry = {};
  UniqueFd fd(::openat(overlay.At(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return errno;
  if (::fstatat(fd.get(), "", &entry->attr, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) return errno;
  entry->ino = overlay.nodes.Enter(std::move(fd), entry->attr);
  return 0;
}

// Both calls return what was before, and never fail visibly: with SECBIT_NO_SETUID_FIXUP root may always.
Maker::Maker(fuse_req_t request)
    : user_(::setfsuid(fuse_req_ctx(request)->uid)), group_(::setfsgid(fuse_req_ctx(request)->gid)) {}
Maker::~Maker() {
  ::setfsuid(static_cast<uid_t>(user_));
  ::setfsgid(static_cast<gid_t>(group_));
}

namespace {

void AnswerWithEntry(fuse_req_t request, int error, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry{};
  if (error == 0) error = LookUp(Of(request), parent, name, &entry);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else if (fuse_reply_entry(request, &entry) != 0) {
    Of(request).nodes.Forget(entry.ino, 1);  // the kernel never heard of it
  }
}

void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) { AnswerWithEntry(request, 0, parent, name); }

void Forget(fuse_req_t request, fuse_ino_t id, uint64_t lookups) {
  Of(request).nodes.Forget(id, lookups);
  fuse_reply_none(request);
}

void ForgetSeveral(fuse_req_t request, size_t count, fuse_forget_data* forgets) {
  for (size_t i = 0; i < count; ++i) Of(request).nodes.Forget(forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(request);
}

void GetAttributes(fuse_req_t request, fuse_ino_t id, fuse_file_info*) {
  struct stat seen {};
  if (::fstatat(Of(request).At(id), "", &seen, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) return Answer(request, -1);
  fuse_reply_attr(request, &seen, 0);
}

int SetSize(PassThrough& overlay, fuse_ino_t id, off_t size, const fuse_file_info* file) {
  if (file != nullptr) return ::ftruncate(static_cast<int>(file->fh), size);
  const UniqueFd fd(::openat(overlay.own_files.get(), NameOf(overlay, id).c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() ? ::ftruncate(fd.get(), size) : -1;
}

int SetTimes(PassThrough& overlay, fuse_ino_t id, const struct stat& to, int which) {
  const auto at = [&](int set, int now, const timespec& given) -> timespec {
    if ((which & now) != 0) return {0, UTIME_NOW};
    if ((which & set) != 0) return given;
    return {0, UTIME_OMIT};
  };
  const timespec times[2] = {at(FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, to.st_atim),
                             at(FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, to.st_mtim)};
  return ::utimensat(overlay.own_files.get(), NameOf(overlay, id).c_str(), times, 0);
}

void SetAttributes(fuse_req_t request, fuse_ino_t id, struct stat* to, int which, fuse_file_info* file) {
  PassThrough& overlay = Of(request);
  int result = 0;
  if ((which & FUSE_SET_ATTR_MODE) != 0) {
    result = ::fchmodat(overlay.own_files.get(), NameOf(overlay, id).c_str(), to->st_mode, 0);
  }
  if (result == 0 && (which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0) {
    const uid_t user = (which & FUSE_SET_ATTR_UID) != 0 ? to->st_uid : static_cast<uid_t>(-1);
    const gid_t group = (which & FUSE_SET_ATTR_GID) != 0 ? to->st_gid : static_cast<gid_t>(-1);
    result = ::fchownat(overlay.At(id), "", user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
  }
  if (result == 0 && (which & FUSE_SET_ATTR_SIZE) != 0) result = SetSize(overlay, id, to->st_size, file);
  if (result == 0 && (which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) != 0) {
    result = SetTimes(overlay, id, *to, which);
  }
  if (result != 0) return Answer(request, -1);
  GetAttributes(request, id, file);
}

void ReadLink(fuse_req_t request, fuse_ino_t id) {
  std::vector<char> target(PATH_MAX + 1);
  const ssize_t size = ::readlinkat(Of(request).At(id), "", target.data(), target.size() - 1);
  if (size < 0) return Answer(request, -1);
  fuse_reply_readlink(request, target.data());
}

void MakeNode(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  int result = 0;
  {
    const Maker maker(request);
    result = ::mknodat(Of(request).At(parent), name, mode, device) < 0 ? errno : 0;
  }
  AnswerWithEntry(request, result, parent, name);
}

void MakeDirectory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  int result = 0;
  {
    const Maker maker(request);
    result = ::mkdirat(Of(request).At(parent), name, mode) < 0 ? errno : 0;
  }
  AnswerWithEntry(request, result, parent, name);
}

void MakeSymbolicLink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  int result = 0;
  {
    const Maker maker(request);
    result = ::symlinkat(target, Of(request).At(parent), name) < 0 ? errno : 0;
  }
  AnswerWithEntry(request, result, parent, name);
}

void MakeLink(fuse_req_t request, fuse_ino_t id, fuse_ino_t parent, const char* name) {
  PassThrough& overlay = Of(request);
  const int result =
      ::linkat(overlay.own_files.get(), NameOf(overlay, id).c_str(), overlay.At(parent), name, AT_SYMLINK_FOLLOW);
  AnswerWithEntry(request, result < 0 ? errno : 0, parent, name);
}

void Unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Answer(request, ::unlinkat(Of(request).At(parent), name, 0));
}

void RemoveDirectory(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Answer(request, ::unlinkat(Of(request).At(parent), name, AT_REMOVEDIR));
}

void Rename(fuse_req_t request, fuse_ino_t from, const char* name, fuse_ino_t to, const char* new_name,
            unsigned int flags) {
  Answer(request, ::renameat2(Of(request).At(from), name, Of(request).At(to), new_name, flags));
}

Listing& ListingOf(fuse_req_t request, const fuse_file_info* file) { return Of(request).listings.At(file->fh); }

void OpenDirectory(fuse_req_t request, fuse_ino_t id, fuse_file_info* file) {
  const int fd = ::openat(Of(request).At(id), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Answer(request, -1);
  DIR* const stream = ::fdopendir(fd);
  if (stream == nullptr) {
    const int error = errno;
    ::close(fd);
    fuse_reply_err(request, error);
    return;
  }
  ListingTable& listings = Of(request).listings;
  file->fh = listings.Add({{stream, &::closedir}});
  if (fuse_reply_open(request, file) != 0) listings.Remove(file->fh);  // nobody will ask for its release
}

void ReadDirectory(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* file) {
  Listing& listing = ListingOf(request, file);
  if (offset != listing.at) {
    ::seekdir(listing.stream.get(), offset);
    listing.pending = nullptr;
    listing.at = offset;
  }
  std::vector<char> answer(size);
  size_t used = 0;
  while (true) {
    errno = 0;
    // One stream, and the kernel asks for one part of it at a time: readdir is safe here.
    if (listing.pending == nullptr) listing.pending = ::readdir(listing.stream.get());
    if (listing.pending == nullptr) {
      if (errno != 0 && used == 0) return Answer(request, -1);
      break;
    }
    struct stat seen {};
    seen.st_ino = listing.pending->d_ino;
    seen.st_mode = static_cast<mode_t>(DTTOIF(listing.pending->d_type));
    const off_t next = listing.pending->d_off;
    const size_t need =
        fuse_add_direntry(request, answer.data() + used, size - used, listing.pending->d_name, &seen, next);
    if (need > size - used) break;
    used += need;
    listing.at = next;
    listing.pending = nullptr;
  }
  fuse_reply_buf(request, answer.data(), used);
}

void ReleaseDirectory(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  Of(request).listings.Remove(file->fh);
  Answer(request, 0);
}

void SyncDirectory(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* file) {
  Of(request).gate.Hold(0);
  const int fd = ::dirfd(ListingOf(request, file).stream.get());
  Answer(request, data_only != 0 ? ::fdatasync(fd) : ::fsync(fd));
}

void StatFs(fuse_req_t request, fuse_ino_t id) {
  struct statvfs seen {};
  if (::fstatvfs(Of(request).At(id), &seen) != 0) return Answer(request, -1);
  int64_t left = 0;
  if (Of(request).gate.Shows(&left) && seen.f_frsize > 0) {
    seen.f_bfree = std::min(seen.f_bfree, static_cast<fsblkcnt_t>(left) / seen.f_frsize);
    seen.f_bavail = std::min(seen.f_bavail, seen.f_bfree);
  }
  fuse_reply_statfs(request, &seen);
}

// Extended attributes know no descriptors of the kind that we hold; their name in /proc leads to the file itself.
std::string PathOf(fuse_req_t request, fuse_ino_t id) { return "/proc/self/fd/" + NameOf(Of(request), id); }

void SetXattr(fuse_req_t request, fuse_ino_t id, const char* name, const char* value, size_t size, int flags) {
  Answer(request, ::setxattr(PathOf(request, id).c_str(), name, value, size, flags));
}

void AnswerWithSize(fuse_req_t request, ssize_t got, const std::vector<char>& value, size_t asked) {
  if (got < 0) return Answer(request, -1);
  if (asked == 0) {
    fuse_reply_xattr(request, static_cast<size_t>(got));
  } else {
    fuse_reply_buf(request, value.data(), static_cast<size_t>(got));
  }
}

void GetXattr(fuse_req_t request, fuse_ino_t id, const char* name, size_t size) {
  std::vector<char> value(size);
  AnswerWithSize(request, ::getxattr(PathOf(request, id).c_str(), name, value.data(), size), value, size);
}

void ListXattr(fuse_req_t request, fuse_ino_t id, size_t size) {
  std::vector<char> value(size);
  AnswerWithSize(request, ::listxattr(PathOf(request, id).c_str(), value.data(), size), value, size);
}

void RemoveXattr(fuse_req_t request, fuse_ino_t id, const char* name) {
  Answer(request, ::removexattr(PathOf(request, id).c_str(), name));
}

}  // namespace

void AddNameOperations(fuse_lowlevel_ops* operations) {
  operations->lookup = &Lookup;
  operations->forget = &Forget;
  operations->forget_multi = &ForgetSeveral;
  operations->getattr = &GetAttributes;
  operations->setattr = &SetAttributes;
  operations->readlink = &ReadLink;
  operations->mknod = &MakeNode;
  operations->mkdir = &MakeDirectory;
  operations->symlink = &MakeSymbolicLink;
  operations->link = &MakeLink;
  operations->unlink = &Unlink;
  operations->rmdir = &RemoveDirectory;
  operations->rename = &Rename;
  operations->opendir = &OpenDirectory;
  operations->readdir = &ReadDirectory;
  operations->releasedir = &ReleaseDirectory;
  operations->fsyncdir = &SyncDirectory;
  operations->statfs = &StatFs;
  operations->setxattr = &SetXattr;
  operations->getxattr = &GetXattr;
  operations->listxattr = &ListXattr;
  operations->removexattr = &RemoveXattr;
}

}  // namespace triodrill
