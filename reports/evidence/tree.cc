#include "reports/evidence/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "reports/evidence/sha256.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr size_t kBufferBytes = size_t{128} << 10;  // stays in the cache between the kernel's copy and the digest
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Status NoBusiness(std::string_view path, std::string_view what) {
  return absl::InvalidArgumentError(Cat("look into bundle: ", path, ": ", what, "; a bundle holds plain files only"));
}

// Adds the files below `fd`, which it closes. `prefix` is "" or ends with a slash.
Status Walk(int fd, const std::string& prefix, int depth, std::vector<std::string>& files) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd), &::closedir);
  if (!directory) {
    const Status status = ErrnoStatus("list", prefix);
    ::close(fd);
    return status;
  }
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(directory.get());
    if (entry == nullptr) return errno == 0 ? Ok() : ErrnoStatus("list", prefix);
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = prefix + name;
    struct stat status {};
    if (::fstatat(fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return ErrnoStatus("look at", path);
    if (!IsBundlePath(path)) return NoBusiness(path, "a name out of bounds");
    if (S_ISREG(status.st_mode)) {
      files.push_back(path);
      if (files.size() > kMostBundleFiles) return NoBusiness(prefix, "too many files");
    } else if (S_ISDIR(status.st_mode)) {
      if (depth >= kDeepestBundlePath) return NoBusiness(path, "too deep");
      const int inner = ::openat(fd, name.c_str(), kDirectoryFlags);
      if (inner < 0) return ErrnoStatus("open", path);
      TRIODRILL_RETURN_IF_ERROR(Walk(inner, path + "/", depth + 1, files));
    } else {
      return NoBusiness(path, S_ISLNK(status.st_mode) ? "a symbolic link" : "not a plain file");
    }
  }
}

// Opens a file part by part, so that no part of the way is a link.
Result<int> OpenBelow(int root, const std::string& path) {
  if (!IsBundlePath(path)) return NoBusiness(path, "a name out of bounds");
  int directory = ::fcntl(root, F_DUPFD_CLOEXEC, 0);
  if (directory < 0) return ErrnoStatus("open", path);
  size_t begin = 0;
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', begin)) {
    const int inner = ::openat(directory, path.substr(begin, slash - begin).c_str(), kDirectoryFlags);
    const Status status = inner < 0 ? ErrnoStatus("open", path) : Ok();
    ::close(directory);
    TRIODRILL_RETURN_IF_ERROR(status);
    directory = inner;
    begin = slash + 1;
  }
  const absl::Cleanup close = [&directory] { ::close(directory); };
  // Not blocked by a pipe that took the file's place meanwhile.
  const int fd = ::openat(directory, path.substr(begin).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("open", path);
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) return fd;
  ::close(fd);
  return NoBusiness(path, "not a plain file");
}

}  // namespace

bool IsBundlePath(std::string_view path) {
  if (path.empty() || path.size() > kLongestBundlePath || path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

Result<BundleTree> BundleTree::Open(const std::string& directory) {
  // The directory itself may be named through a link: it is the user's word.
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("open bundle", directory);
  return BundleTree(fd);
}

BundleTree::~BundleTree() {
  if (fd_ >= 0) ::close(fd_);
}
BundleTree::BundleTree(BundleTree&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Result<std::vector<std::string>> BundleTree::Files() const {
  const int fd = ::openat(fd_, ".", kDirectoryFlags);
  if (fd < 0) return ErrnoStatus("open", "bundle");
  std::vector<std::string> files;
  TRIODRILL_RETURN_IF_ERROR(Walk(fd, "", 1, files));
  std::sort(files.begin(), files.end());
  return files;
}

Status BundleTree::Read(const std::string& path, const Take& take) const {
  TRIODRILL_ASSIGN_OR_RETURN(const int fd, OpenBelow(fd_, path));
  const absl::Cleanup close = [fd] { ::close(fd); };
  const auto buffer = std::make_unique<char[]>(kBufferBytes);
  for (;;) {
    const ssize_t count = ::read(fd, buffer.get(), kBufferBytes);
    if (count < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus("read", path);
    }
    if (count == 0) return Ok();
    TRIODRILL_RETURN_IF_ERROR(take({buffer.get(), static_cast<size_t>(count)}));
  }
}

Result<std::string> BundleTree::ReadAll(const std::string& path, size_t most) const {
  std::string bytes;
  TRIODRILL_RETURN_IF_ERROR(Read(path, [&](std::string_view piece) -> Status {
    if (bytes.size() + piece.size() > most) {
      return absl::InvalidArgumentError(Cat("read ", path, ": larger than the ", most, " bytes that are read of it"));
    }
    bytes += piece;
    return Ok();
  }));
  return bytes;
}

Result<BundleTree::Digest> BundleTree::DigestOf(const std::string& path) const {
  Sha256 sha256;
  Digest digest;
  TRIODRILL_RETURN_IF_ERROR(Read(path, [&](std::string_view piece) {
    sha256.Add(piece);
    digest.bytes += static_cast<int64_t>(piece.size());
    return Ok();
  }));
  digest.sha256 = sha256.Hex();
  return digest;
}

}  // namespace triodrill
