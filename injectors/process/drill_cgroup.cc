#include "injectors/process/drill_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "injectors/journal/record.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

// A setting of a v2 cgroup, and how its text begins as long as nobody has written it.
struct Setting {
  std::string_view controller;
  std::string_view file;
  std::string_view untouched;
};
constexpr std::array<Setting, 6> kSettings = {{
    {"cpu", "cpu.max", "max "},
    {"cpu", "cpu.weight", "100\n"},
    {"memory", "memory.max", "max\n"},
    {"memory", "memory.high", "max\n"},
    {"memory", "memory.min", "0\n"},
    {"memory", "memory.low", "0\n"},
}};

// Where processes go back to: the prior cgroup, or what is left of its path if somebody removed it meanwhile.
std::string WayBack(const v1::CgroupPrior& ours) {
  std::filesystem::path back = ours.prior_directory();
  const std::filesystem::path top = std::filesystem::path(ours.made_directory()).parent_path();
  while (back != top && back.has_relative_path() && ::access((back / "cgroup.procs").c_str(), F_OK) != 0) {
    back = back.parent_path();
  }
  return back.string();
}

// Ok also if some ended under our hands.
Status MoveAllBack(int directory, const v1::CgroupPrior& ours) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<pid_t> processes, ReadCgroupProcesses(directory));
  if (processes.empty()) return Ok();
  const std::string back = WayBack(ours);
  Status first;
  for (const pid_t pid : processes) {
    if (pid == 0) {
      first.Update(absl::FailedPreconditionError(Cat(
          "empty cgroup ", ours.made_directory(), ": a process of another pid namespace is in it; run on the host")));
      continue;
    }
    // A pid of cgroup.procs that ends and is reused before the write would be moved for nothing: only a process in our
    // cgroup now is named, and the window is one system call.
    const Status moved = WriteControlFileAt(AT_FDCWD, Cat(back, "/cgroup.procs"), Cat(pid));
    Step("cgroup: one process moved back");
    if (!moved.ok() && ::access(Cat("/proc/", pid).c_str(), F_OK) == 0) first.Update(moved);
  }
  return first;
}

}  // namespace

Result<v1::CgroupPrior> PlanDrillCgroup(const v1::AimedFault& fault, std::string_view controller) {
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(fault.shot()));
  TRIODRILL_RETURN_IF_ERROR(CheckShotName(fault.run_id()));  // both become part of a directory's name
  TRIODRILL_ASSIGN_OR_RETURN(const OwnCgroup own, FindCgroup(fault.target().process().pid(), controller));
  TRIODRILL_ASSIGN_OR_RETURN(const CgroupPlace place, PlaceFor(own, controller));
  const std::string made = Cat(place.parent, "/triodrill-", fault.run_id(), "-", fault.shot());
  if (::access(made.c_str(), F_OK) == 0) {
    return absl::AlreadyExistsError(Cat("make cgroup ", made, ": it is there already; settle its drill first"));
  }
  v1::CgroupPrior prior;
  prior.set_version(own.version);
  prior.set_made_directory(made);
  prior.set_prior_directory(own.directory);
  if (place.enable) prior.set_enabled_in(place.parent);
  return prior;
}

std::string EmptyByHand(const v1::CgroupPrior& ours) {
  return Cat("for p in $(cat ", ours.made_directory(), "/cgroup.procs); do echo $p > ", ours.prior_directory(),
             "/cgroup.procs; done; rmdir ", ours.made_directory());
}

Result<UniqueFd> MakeDrillCgroup(const v1::CgroupPrior& ours, std::string_view controller) {
  if (!ours.enabled_in().empty()) {
    const std::string subtree = Cat(ours.enabled_in(), "/cgroup.subtree_control");
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(AT_FDCWD, subtree, Cat("+", controller)));
    Step("cgroup: controller enabled");
  }
  if (::mkdir(ours.made_directory().c_str(), 0755) != 0) return ErrnoStatus("make cgroup", ours.made_directory());
  Step("cgroup: made");
  return OpenDrillCgroup(ours);
}

Result<UniqueFd> OpenDrillCgroup(const v1::CgroupPrior& ours) {
  UniqueFd fd(::open(ours.made_directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return ErrnoStatus("open cgroup", ours.made_directory());
  struct stat seen {};
  if (::fstat(fd.get(), &seen) != 0) return ErrnoStatus("look at cgroup", ours.made_directory());
  if (ours.made_inode() != 0 && seen.st_ino != ours.made_inode()) {
    return absl::FailedPreconditionError(Cat("cgroup ", ours.made_directory(), ": another one by that name"));
  }
  return fd;
}

Status MoveInto(int directory, const ProcessHandle& process) {
  TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(directory, "cgroup.procs", Cat(process.identity().pid())));
  Step("cgroup: process moved");
  return Ok();
}

Status EmptyAndRemove(int directory, const v1::CgroupPrior& ours, std::string_view controller) {
  Status last;
  // A cgroup is busy as long as a process in it is on its way out, and a fork can come in while we empty it.
  const bool gone = LookUntil(std::chrono::seconds(5), [&] {
    last = MoveAllBack(directory, ours);
    if (!last.ok()) return absl::IsPermissionDenied(last);
    Step("cgroup: emptied");
    if (::rmdir(ours.made_directory().c_str()) == 0 || errno == ENOENT) return true;
    last = ErrnoStatus("remove cgroup", ours.made_directory());
    return errno != EBUSY;
  });
  Step("cgroup: removed");
  if (!last.ok()) return last;
  if (!gone) return absl::DeadlineExceededError(Cat("empty cgroup ", ours.made_directory(), ": processes keep coming"));
  return DisableController(ours, controller);
}

Status DisableController(const v1::CgroupPrior& ours, std::string_view controller) {
  if (ours.enabled_in().empty()) return Ok();
  const std::string& parent = ours.enabled_in();
  const Result<std::vector<std::string>> children = ListDirectory(parent);
  if (absl::IsNotFound(children.status())) return Ok();
  TRIODRILL_RETURN_IF_ERROR(children.status());
  for (const std::string& child : *children) {
    for (const Setting& setting : kSettings) {
      if (setting.controller != controller) continue;
      const Result<std::string> now = ReadFile(Cat(parent, "/", child, "/", setting.file));
      if (now.ok() && !now->starts_with(setting.untouched)) return Ok();
    }
  }
  return WriteControlFileAt(AT_FDCWD, Cat(parent, "/cgroup.subtree_control"), Cat("-", controller));
}

}  // namespace triodrill
