#include "injectors/storage/overlay_place.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "injectors/os/file.h"
#include "injectors/storage/mounts.h"
#include "injectors/storage/overlay_order.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

bool IsAtOrBelow(std::string_view path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

Result<uint64_t> EffectiveCapabilities() {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFile("/proc/thread-self/status"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(line, absl::MaxSplits(":\t", 1));
    uint64_t bits = 0;
    if (field.first == "CapEff" && absl::SimpleHexAtoi(field.second, &bits)) return bits;
  }
  return absl::InternalError("read this process's capabilities: there is no CapEff");
}

// What of this process's own is there, but for the descriptor by which we know it: "" if nothing is.
Result<std::string> OwnBelow(const StoragePlace& place) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListDirectory("/proc/self/fd"));
  std::vector<std::string> links = {"/proc/self/exe", "/proc/self/cwd"};
  for (const std::string& file : files) {
    if (file != Cat(place.directory.get())) links.push_back("/proc/self/fd/" + file);
  }
  for (const std::string& link : links) {
    std::error_code error;
    const std::string path = std::filesystem::read_symlink(link, error).string();
    if (!error && IsAtOrBelow(path, place.path)) return path;
  }
  return std::string();
}

}  // namespace

Status CheckMayMount(std::string_view kind) {
  const UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device.valid()) return ErrnoStatus(Cat("prepare ", kind, ": it needs FUSE: open"), "/dev/fuse");
  TRIODRILL_ASSIGN_OR_RETURN(const uint64_t capabilities, EffectiveCapabilities());
  if ((capabilities >> CAP_SYS_ADMIN & 1) != 0) return Ok();
  return absl::PermissionDeniedError(Cat("prepare ", kind, ": mounting needs CAP_SYS_ADMIN; run the agent as root"));
}

Status CheckSameMounts(const ProcessHandle& process, std::string_view kind) {
  const std::string path = Cat("/proc/", process.identity().pid(), "/ns/mnt");
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) return ErrnoStatus("look at the mount namespace of the target:", path);
  TRIODRILL_ASSIGN_OR_RETURN(const uint64_t own, OwnNamespaceInode("mnt"));
  if (seen.st_ino == own) return Ok();
  return absl::FailedPreconditionError(Cat("prepare ", kind, ": the target is in another mount namespace (",
                                           seen.st_ino, ", this is ", own, "); run the agent in the target's"));
}

Status CheckMayBeCovered(const ProcessHandle& process, const StoragePlace& place, std::string_view kind) {
  const auto refused = [&](const std::string& why) {
    return absl::FailedPreconditionError(
        Cat("prepare ", kind, ": ", place.path, ": ", why, "; name a directory that is the job's alone"));
  };
  std::error_code error;
  const std::string link = Cat("/proc/", process.identity().pid(), "/cwd");
  if (std::filesystem::read_symlink(link, error).string() == place.path || error) {
    return refused("it is the working directory of the target, whose own names do not lead through a mount on it");
  }
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<MountLine> mounts, ReadMounts());
  for (const MountLine& mount : mounts) {
    if (mount.point == place.path) return refused("a file system is mounted there");
    if (IsAtOrBelow(mount.point, place.path))
      return refused(Cat("a file system is mounted below it, at ", mount.point));
    if (mount.type == kOverlayType && IsAtOrBelow(place.path, mount.point)) {
      return refused(Cat("it is covered by another drill, at ", mount.point));
    }
  }
  TRIODRILL_ASSIGN_OR_RETURN(const std::string own, OwnBelow(place));
  if (own.empty()) return Ok();
  return refused(Cat("this process itself uses ", own));
}

}  // namespace triodrill
