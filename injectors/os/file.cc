#include "injectors/os/file.h"

#include <dirent.h>
#include <sys/stat.h>

#include <array>
#include <memory>

#include "absl/strings/strip.h"
#include "injectors/os/fd.h"

namespace triodrill {

Result<std::string> ReadFileAt(int directory, const std::string& name) {
  constexpr size_t kMost = 1 << 20;
  const UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open", name);
  std::string text;
  std::array<char, 16384> block;
  while (true) {
    const ssize_t got = ::read(fd.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("read", name);
    if (got == 0) return text;
    text.append(block.data(), static_cast<size_t>(got));
    if (text.size() > kMost) return absl::OutOfRangeError(Cat("read ", name, ": larger than ", kMost, " bytes"));
  }
}

Status WriteControlFileAt(int directory, const std::string& name, std::string_view text) {
  const UniqueFd fd(::openat(directory, name.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open for writing", name);
  ssize_t wrote = 0;
  do {
    wrote = ::write(fd.get(), text.data(), text.size());
  } while (wrote < 0 && errno == EINTR);
  if (wrote < 0) return ErrnoStatus(Cat("write '", absl::StripSuffix(View(text), "\n"), "' to"), name);
  if (static_cast<size_t>(wrote) != text.size()) return absl::DataLossError(Cat("write ", name, ": cut short"));
  return Ok();
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (!directory) return ErrnoStatus("list", path);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    // One stream, one thread: readdir is safe here.
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return ErrnoStatus("list", path);
  return names;
}

Result<uint64_t> OwnNamespaceInode(std::string_view kind) {
  const std::string path = Cat("/proc/thread-self/ns/", kind);
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) return ErrnoStatus("look at namespace", path);
  return static_cast<uint64_t>(seen.st_ino);
}

Result<std::string> BootId() {
  TRIODRILL_ASSIGN_OR_RETURN(std::string text, ReadFile("/proc/sys/kernel/random/boot_id"));
  return std::string(absl::StripSuffix(text, "\n"));
}

}  // namespace triodrill
