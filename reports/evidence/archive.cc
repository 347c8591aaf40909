#include "reports/evidence/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "reports/evidence/files.h"
#include "reports/evidence/tree.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlockBytes = size_t{64} << 10;
constexpr size_t kPieceBytes = size_t{1} << 20;

using Writer = std::unique_ptr<archive, int (*)(archive*)>;
using Reader = std::unique_ptr<archive, int (*)(archive*)>;
using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

Status Failed(std::string_view what, archive* handle) {
  const char* const why = archive_error_string(handle);
  return absl::DataLossError(Cat(what, ": ", why == nullptr ? "unknown error" : why));
}

Status Refused(std::string_view path, std::string_view why) {
  return absl::InvalidArgumentError(Cat("unpack ", path, ": ", why, "; nothing of it is read"));
}

std::string_view FolderOf(std::string_view archive_name) {
  archive_name.remove_suffix(kArchiveSuffix.size());
  return archive_name;
}

// ---- packing

Status AddFile(const BundleTree& tree, const std::string& folder, const std::string& path, archive* out) {
  TRIODRILL_ASSIGN_OR_RETURN(const BundleTree::Digest digest, tree.DigestOf(path));
  const Entry entry(archive_entry_new(), archive_entry_free);
  archive_entry_set_pathname(entry.get(), Cat(folder, "/", path).c_str());
  archive_entry_set_size(entry.get(), digest.bytes);
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  if (archive_write_header(out, entry.get()) != ARCHIVE_OK) return Failed(Cat("pack ", path), out);
  int64_t left = digest.bytes;
  TRIODRILL_RETURN_IF_ERROR(tree.Read(path, [&](std::string_view piece) -> Status {
    left -= static_cast<int64_t>(piece.size());
    if (archive_write_data(out, piece.data(), piece.size()) < 0) return Failed(Cat("pack ", path), out);
    return Ok();
  }));
  return left == 0 ? Ok() : absl::DataLossError(Cat("pack ", path, ": it changed while it was read"));
}

Status WriteArchive(const BundleTree& tree, const std::string& folder, int fd, const std::string& name) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> files, tree.Files());
  const Writer out(archive_write_new(), archive_write_free);
  if (archive_write_add_filter_zstd(out.get()) != ARCHIVE_OK ||
      archive_write_set_format_pax_restricted(out.get()) != ARCHIVE_OK ||
      archive_write_open_fd(out.get(), fd) != ARCHIVE_OK) {
    return Failed(Cat("pack ", name), out.get());
  }
  for (const std::string& path : files) TRIODRILL_RETURN_IF_ERROR(AddFile(tree, folder, path, out.get()));
  return archive_write_close(out.get()) == ARCHIVE_OK ? Ok() : Failed(Cat("pack ", name), out.get());
}

// ---- unpacking

class Unpacking {
 public:
  Unpacking(const std::string& name, const std::string& directory, int64_t bytes)
      : name_(name),
        directory_(directory),
        allowance_(std::min(kMostArchiveBytes, bytes * kMostArchiveGrowth + kArchiveGrowthFreeBytes)) {}

  Status Run(archive* in) {
    for (archive_entry* entry = nullptr;;) {
      const int code = archive_read_next_header(in, &entry);
      if (code == ARCHIVE_EOF) break;
      if (code != ARCHIVE_OK) return Failed(Cat("unpack ", name_), in);
      TRIODRILL_RETURN_IF_ERROR(One(in, entry));
    }
    return files_ > 0 ? Ok() : Refused(name_, "there is nothing in it");
  }

 private:
  Status One(archive* in, archive_entry* entry) {
    const char* const given = archive_entry_pathname(entry);
    std::string path = given == nullptr ? "" : given;
    const bool folder = archive_entry_filetype(entry) == AE_IFDIR;
    while (folder && path.ends_with('/')) path.pop_back();
    if (!IsBundlePath(path)) return Refused(name_, "a name leaves it, or is out of bounds");
    if (folder) return Ok();  // made where a file needs it
    const bool plain = archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr;
    if (!plain) return Refused(name_, Cat(path, " is not a plain file"));
    if (++files_ > kMostBundleFiles) return Refused(name_, "too many files");
    const size_t slash = path.find('/');
    if (slash == std::string::npos) return Refused(name_, Cat(path, " lies beside the bundle's folder"));
    if (files_ == 1) top_ = path.substr(0, slash);
    if (path.substr(0, slash) != top_) return Refused(name_, "it holds more than one folder");
    if (std::count(path.begin(), path.end(), '/') > kDeepestBundlePath)
      return Refused(name_, Cat(path, " is too deep"));
    return Write(in, path.substr(slash + 1));
  }

  Status Write(archive* in, const std::string& path) {
    const fs::path target = fs::path(directory_) / path;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (error) return absl::UnavailableError(Cat("unpack ", path, ": ", error.message()));
    const int fd = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) return Refused(name_, Cat(path, " is in it twice"));
    if (fd < 0) return ErrnoStatus("unpack", target.string());
    const absl::Cleanup close = [fd] { ::close(fd); };
    std::vector<char> piece(kPieceBytes);
    for (;;) {
      const la_ssize_t count = archive_read_data(in, piece.data(), piece.size());
      if (count == 0) return Ok();
      if (count < 0) return Failed(Cat("unpack ", path), in);
      allowance_ -= count;
      if (allowance_ < 0) return Refused(name_, "it grows beyond all measure");
      for (la_ssize_t done = 0; done < count;) {
        const ssize_t written = ::write(fd, piece.data() + done, static_cast<size_t>(count - done));
        if (written < 0 && errno != EINTR) return ErrnoStatus("unpack", target.string());
        if (written > 0) done += written;
      }
    }
  }

  const std::string& name_;
  const std::string& directory_;
  std::string top_;
  size_t files_ = 0;
  int64_t allowance_;
};

Status Unpack(const std::string& name, const std::string& directory) {
  const int fd = ::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("open", name);
  const absl::Cleanup close = [fd] { ::close(fd); };
  struct stat status {};
  if (::fstat(fd, &status) != 0) return ErrnoStatus("open", name);
  if (!S_ISREG(status.st_mode)) return Refused(name, "it is not a plain file");
  // Of all that libarchive can read, these two alone.
  const Reader in(archive_read_new(), archive_read_free);
  if (archive_read_support_filter_zstd(in.get()) != ARCHIVE_OK ||
      archive_read_support_format_tar(in.get()) != ARCHIVE_OK ||
      archive_read_open_fd(in.get(), fd, kBlockBytes) != ARCHIVE_OK) {
    return Failed(Cat("unpack ", name), in.get());
  }
  return Unpacking(name, directory, status.st_size).Run(in.get());
}

}  // namespace

bool IsArchive(std::string_view path) { return path.size() > kArchiveSuffix.size() && path.ends_with(kArchiveSuffix); }

Status PackBundle(const std::string& directory, const std::string& archive) {
  const std::string name = fs::path(archive).filename().string();
  if (!IsArchive(name))
    return absl::InvalidArgumentError(Cat("pack into ", archive, ": its name has to end with ", kArchiveSuffix));
  TRIODRILL_ASSIGN_OR_RETURN(const BundleTree tree, BundleTree::Open(directory));
  const std::string temporary = archive + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus("open", temporary);
  absl::Cleanup abandon = [&] { ::unlink(temporary.c_str()); };
  Status status = WriteArchive(tree, std::string(FolderOf(name)), fd, archive);
  if (status.ok() && ::fsync(fd) != 0) status = ErrnoStatus("sync", temporary);
  if (::close(fd) != 0 && status.ok()) status = ErrnoStatus("close", temporary);
  TRIODRILL_RETURN_IF_ERROR(status);
  if (::rename(temporary.c_str(), archive.c_str()) != 0) return ErrnoStatus("rename", temporary);
  std::move(abandon).Cancel();
  return SyncDirectory(fs::path(archive).parent_path().string());
}

Result<BundleSource> BundleSource::Open(const std::string& path) {
  if (!IsArchive(path)) return BundleSource(path, false);
  std::error_code error;
  const fs::path below = fs::temp_directory_path(error);
  if (error) return absl::UnavailableError(Cat("find a place for temporary files: ", error.message()));
  std::string directory = (below / "triodrill-bundle-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return ErrnoStatus("make directory", directory);
  BundleSource source(std::move(directory), true);
  TRIODRILL_RETURN_IF_ERROR(Unpack(path, source.directory_));
  return source;
}

BundleSource::~BundleSource() {
  std::error_code ignored;
  if (ours_) fs::remove_all(directory_, ignored);
}
BundleSource::BundleSource(BundleSource&& other) noexcept
    : directory_(std::move(other.directory_)), ours_(std::exchange(other.ours_, false)) {}

}  // namespace triodrill
