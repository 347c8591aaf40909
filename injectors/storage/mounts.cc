#include "injectors/storage/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "injectors/os/fd.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"
#include "injectors/storage/overlay_order.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

// The kernel writes blanks, tabs, newlines and backslashes as three octal digits.
std::string Unescaped(std::string_view text) {
  std::string plain;
  const auto digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

Result<UniqueFd> OpenPoint(const MountLine& mount) {
  UniqueFd fd(::open(mount.point.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open the mount point", mount.point);
  return fd;
}

Result<bool> IsOf(const UniqueFd& fd, const MountLine& mount) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFile(Cat("/proc/thread-self/fdinfo/", fd.get())));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    int id = 0;
    if (field.first == "mnt_id" && absl::SimpleAtoi(field.second, &id)) return id == mount.id;
  }
  return absl::InternalError(Cat("find out which mount is at ", mount.point, ": the kernel does not tell"));
}

Status UnmountOne(const MountLine& mount) {
  const Result<UniqueFd> point = OpenPoint(mount);
  if (absl::IsNotFound(point.status())) return Ok();  // another unmounts it, too
  if (!point.ok()) return point.status();
  TRIODRILL_ASSIGN_OR_RETURN(const bool ours, IsOf(*point, mount));
  if (!ours) return Ok();
  // By the descriptor: whatever the name means by now, it is this mount that goes.
  if (::umount2(Cat("/proc/thread-self/fd/", point->get()).c_str(), MNT_DETACH) == 0 || errno == EINVAL) return Ok();
  return ErrnoStatus("unmount", mount.point);
}

}  // namespace

std::vector<MountLine> ParseMounts(std::string_view mountinfo) {
  std::vector<MountLine> mounts;
  for (const absl::string_view line : absl::StrSplit(View(mountinfo), '\n')) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    MountLine mount;
    if (dash - fields.begin() < 6 || fields.end() - dash < 3 || !absl::SimpleAtoi(fields[0], &mount.id)) continue;
    mount.point = Unescaped(fields[4]);
    mount.type = Unescaped(dash[1]);
    mount.source = Unescaped(dash[2]);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

Result<std::vector<MountLine>> ReadMounts() {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFile("/proc/thread-self/mountinfo"));
  return ParseMounts(text);
}

std::vector<MountLine> OverlaysIn(const std::vector<MountLine>& mounts, std::string_view token) {
  std::vector<MountLine> ours;
  for (const MountLine& mount : mounts) {
    if (mount.type == kOverlayType && mount.source == token) ours.push_back(mount);
  }
  return ours;
}

Result<bool> IsOnTop(const MountLine& mount) {
  TRIODRILL_ASSIGN_OR_RETURN(const UniqueFd point, OpenPoint(mount));
  return IsOf(point, mount);
}

Status UnmountOverlays(std::string_view token) {
  std::vector<MountLine> left;
  // Again, since others may be at the same: each round takes one away, or finds that it went.
  for (int round = 0; round < 64; ++round) {
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<MountLine> mounts, ReadMounts());
    left = OverlaysIn(mounts, token);
    if (left.empty()) return Ok();
    TRIODRILL_RETURN_IF_ERROR(UnmountOne(left.back()));
    Step("overlay: unmounted");
  }
  return absl::FailedPreconditionError(Cat("unmount ", left.back().source, " from ", left.back().point,
                                           ": something else is mounted over it; unmount that first"));
}

}  // namespace triodrill
