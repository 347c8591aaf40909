#include "reports/evidence/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "reports/evidence/sha256.h"

namespace triodrill {
namespace {

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus("write", path);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return Ok();
}

// `expect` is told the file's size before the first piece.
Status ReadPieces(const std::string& path, const std::function<void(size_t)>& expect,
                  const std::function<Status(std::string_view)>& take) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("open", path);
  const absl::Cleanup close = [fd] { ::close(fd); };
  struct stat status {};
  if (::fstat(fd, &status) != 0) return ErrnoStatus("stat", path);
  if (!S_ISREG(status.st_mode)) return absl::InvalidArgumentError(absl::StrCat("read ", path, ": not a plain file"));
  expect(static_cast<size_t>(status.st_size));
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus("read", path);
    }
    if (count == 0) return Ok();
    TRIODRILL_RETURN_IF_ERROR(take({buffer.data(), static_cast<size_t>(count)}));
  }
}

}  // namespace

Result<std::string> ReadWholeFile(const std::string& path) {
  std::string bytes;
  TRIODRILL_RETURN_IF_ERROR(ReadPieces(
      path, [&](size_t size) { bytes.reserve(size); },
      [&](std::string_view piece) {
        bytes += piece;
        return Ok();
      }));
  return bytes;
}

Status ReadFileInPieces(const std::string& path, const std::function<Status(std::string_view)>& take) {
  return ReadPieces(
      path, [](size_t) {}, take);
}

Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return ErrnoStatus("open", temporary);
  absl::Cleanup abandon = [&] { ::unlink(temporary.c_str()); };
  Status status = WriteAll(fd, bytes, temporary);
  if (status.ok() && ::fsync(fd) != 0) status = ErrnoStatus("sync", temporary);
  if (::close(fd) != 0 && status.ok()) status = ErrnoStatus("close", temporary);
  TRIODRILL_RETURN_IF_ERROR(status);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus("rename", temporary);
  std::move(abandon).Cancel();
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

Status SyncDirectory(const std::string& directory) {
  const std::string named = directory.empty() ? "." : directory;
  const int fd = ::open(named.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("open", named);
  const absl::Cleanup close = [fd] { ::close(fd); };
  if (::fsync(fd) != 0) return ErrnoStatus("sync", named);
  return Ok();
}

// One context a thread, used again: to make one costs more than the digest of a line.
std::string Sha256Hex(std::string_view bytes) {
  thread_local Sha256 sha256;
  sha256.Add(bytes);
  return sha256.Hex();
}

}  // namespace triodrill
