// Open files: what is read, written and synced meets the gate.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "injectors/storage/pass_through_ops.h"

namespace triodrill {
namespace {

// How a file is opened below. Direct I/O ends at the kernel's side: our buffers are not aligned for it.
int FlagsBelow(int flags) { return (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_DIRECT)) | O_CLOEXEC; }

int FileOf(const fuse_file_info* file) { return static_cast<int>(file->fh); }

void Open(fuse_req_t request, fuse_ino_t id, fuse_file_info* file) {
  PassThrough& overlay = Of(request);
  const int fd = ::openat(overlay.own_files.get(), NameOf(overlay, id).c_str(), FlagsBelow(file->flags));
  if (fd < 0) return Answer(request, -1);
  file->fh = static_cast<uint64_t>(fd);
  file->direct_io = (file->flags & O_DIRECT) != 0 ? 1 : 0;
  if (fuse_reply_open(request, file) != 0) ::close(fd);  // nobody will ask for its release
}

void Create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* file) {
  PassThrough& overlay = Of(request);
  int fd = -1;
  int error = 0;
  {
    const Maker maker(request);
    const int flags = FlagsBelow(file->flags) | O_CREAT | O_NOFOLLOW | (file->flags & O_EXCL);
    fd = ::openat(overlay.At(parent), name, flags, mode);
    error = fd < 0 ? errno : 0;
  }
  fuse_entry_param entry{};
  if (error == 0) error = LookUp(overlay, parent, name, &entry);
  if (error != 0) {
    if (fd >= 0) ::close(fd);
    fuse_reply_err(request, error);
    return;
  }
  file->fh = static_cast<uint64_t>(fd);
  file->direct_io = (file->flags & O_DIRECT) != 0 ? 1 : 0;
  if (fuse_reply_create(request, &entry, file) == 0) return;
  overlay.nodes.Forget(entry.ino, 1);
  ::close(fd);
}

void Read(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* file) {
  std::vector<char> bytes(size);
  const ssize_t got = ::pread(FileOf(file), bytes.data(), size, offset);
  const int error = errno;
  Of(request).gate.Hold(got > 0 ? static_cast<size_t>(got) : 0);
  if (got < 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_buf(request, bytes.data(), static_cast<size_t>(got));
  }
}

void Write(fuse_req_t request, fuse_ino_t, const char* bytes, size_t size, off_t offset, fuse_file_info* file) {
  Gate& gate = Of(request).gate;
  gate.Hold(size);
  // Pages that were written through a mapping are never written in part: the kernel would not notice.
  const size_t admitted = gate.Admit(size, file->writepage != 0);
  if (admitted == 0 && size > 0) {
    fuse_reply_err(request, gate.refusal());
    return;
  }
  const ssize_t wrote = ::pwrite(FileOf(file), bytes, admitted, offset);
  const int error = errno;
  gate.Unused(admitted - (wrote > 0 ? static_cast<size_t>(wrote) : 0));
  if (wrote < 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_write(request, static_cast<size_t>(wrote));
  }
}

// Once for each descriptor that is closed: closing a copy of ours lets the file system below say what it has to say.
void Flush(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  const int copy = ::fcntl(FileOf(file), F_DUPFD_CLOEXEC, 0);
  Answer(request, copy < 0 ? -1 : ::close(copy));
}

void Release(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  ::close(FileOf(file));
  Answer(request, 0);
}

void Sync(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* file) {
  Of(request).gate.Hold(0);
  Answer(request, data_only != 0 ? ::fdatasync(FileOf(file)) : ::fsync(FileOf(file)));
}

void Allocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info* file) {
  Gate& gate = Of(request).gate;
  const bool takes = (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE)) == 0;
  const size_t bytes = takes ? static_cast<size_t>(length) : 0;
  if (gate.Admit(bytes, true) < bytes) {
    fuse_reply_err(request, gate.refusal());
    return;
  }
  const int result = ::fallocate(FileOf(file), mode, offset, length);
  const int error = errno;
  if (result != 0) gate.Unused(bytes);
  fuse_reply_err(request, result != 0 ? error : 0);
}

void Seek(fuse_req_t request, fuse_ino_t, off_t offset, int whence, fuse_file_info* file) {
  const off_t found = ::lseek(FileOf(file), offset, whence);
  if (found < 0) return Answer(request, -1);
  fuse_reply_lseek(request, found);
}

}  // namespace

void AddFileOperations(fuse_lowlevel_ops* operations) {
  operations->open = &Open;
  operations->create = &Create;
  operations->read = &Read;
  operations->write = &Write;
  operations->flush = &Flush;
  operations->release = &Release;
  operations->fsync = &Sync;
  operations->fallocate = &Allocate;
  operations->lseek = &Seek;
}

}  // namespace triodrill
