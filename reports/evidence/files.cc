#include "reports/evidence/files.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "absl/cleanup/cleanup.h"

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

}  // namespace

Result<std::string> ReadWholeFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("open", path);
  const absl::Cleanup close = [fd] { ::close(fd); };
  struct stat status {};
  if (::fstat(fd, &status) != 0) return ErrnoStatus("stat", path);
  if (!S_ISREG(status.st_mode)) return absl::InvalidArgumentError(absl::StrCat("read ", path, ": not a plain file"));
  std::string bytes;
  bytes.reserve(static_cast<size_t>(status.st_size));
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus("read", path);
    }
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<size_t>(count));
  }
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

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  // Fetched once and kept: looking the algorithm up costs more than hashing a line.
  static const EVP_MD* const kSha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, kSha256, nullptr);
  constexpr char kHex[] = "0123456789abcdef";
  std::string hex(size_t{2} * length, '0');
  for (unsigned int i = 0; i < length; ++i) {
    hex[2 * i] = kHex[digest[i] >> 4];
    hex[2 * i + 1] = kHex[digest[i] & 15];
  }
  return hex;
}

}  // namespace triodrill
