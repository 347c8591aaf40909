// triodrill-overlay: puts a file system over a directory that passes everything on, but is full or slow, until told to
// end. Two processes: the keeper, which was started, and the server, its child. Whichever sees a reason to end takes
// the mount away; each watches the other, so that no single death leaves a directory that nobody serves. The server
// then passes on, without any fault, what is still open through it, and ends with the last of that.
#include <fcntl.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "injectors/process/helper_side.h"
#include "injectors/process/process_identity.h"
#include "injectors/storage/gate.h"
#include "injectors/storage/mounts.h"
#include "injectors/storage/overlay_order.h"
#include "injectors/storage/pass_through.h"

namespace triodrill {
namespace {

Status BecomeAServer() {
  ::umask(0);
  if (::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) != 0) {
    return ErrnoStatus("keep root's rights while making files for others:", "prctl(PR_SET_SECUREBITS)");
  }
  // One descriptor for each file that the kernel knows.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  return Ok();
}

Result<UniqueFd> OpenBelowIt(const OverlayOrder& order) {
  UniqueFd fd(::open(order.directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat seen {};
  if (!fd.valid() || ::fstat(fd.get(), &seen) != 0) return ErrnoStatus("open", order.directory);
  if (seen.st_dev == order.device && seen.st_ino == order.inode) return fd;
  return absl::NotFoundError(Cat(order.directory, " is another directory now"));
}

Status MountOver(const UniqueFd& directory, const OverlayOrder& order, int device) {
  struct stat seen {};
  if (::fstat(directory.get(), &seen) != 0) return ErrnoStatus("look at", order.directory);
  std::string mode;
  for (unsigned bits = seen.st_mode; bits > 0; bits /= 8) mode.insert(mode.begin(), static_cast<char>('0' + bits % 8));
  const std::string options = Cat("fd=", device, ",rootmode=", mode, ",user_id=", ::geteuid(),
                                  ",group_id=", ::getegid(), ",allow_other,default_permissions");
  if (::mount(order.common.token.c_str(), Cat("/proc/self/fd/", directory.get()).c_str(),
              std::string(kOverlayType).c_str(), MS_NOSUID | MS_NODEV, options.c_str()) == 0) {
    return Ok();
  }
  return ErrnoStatus("mount over", order.directory);
}

Status Serve(const OverlayOrder& order, const ReasonsToEnd& reasons) {
  TRIODRILL_RETURN_IF_ERROR(BecomeAServer());
  TRIODRILL_ASSIGN_OR_RETURN(UniqueFd below, OpenBelowIt(order));
  TRIODRILL_ASSIGN_OR_RETURN(std::unique_ptr<Gate> made, Gate::Make(order.rules));
  Gate& gate = *made.release();  // the thread below uses it to the very end of the process
  const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return ErrnoStatus("open", "/dev/fuse");
  const std::string token = order.common.token;
  if (reasons.Now()) return Ok();
  TRIODRILL_RETURN_IF_ERROR(MountOver(below, order, device));
  std::thread([&gate, &order, &reasons, token] {
    reasons.Before(order.common.until);
    gate.Release();
    [[maybe_unused]] const Status unmounted = UnmountOverlays(token);  // the keeper and the undo do the same
  }).detach();
  // The status descriptor stays open: its number must not become that of a file of the job.
  const Status served = ServePassThrough(std::move(below), device, gate, &SayStarted);
  const Status unmounted = UnmountOverlays(token);
  return served.ok() ? unmounted : served;
}

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) { return SayFailed(kOverlayProgram, status); };
  const Result<OverlayOrder> order = ParseOverlayArguments(arguments);
  if (!order.ok()) return failed(order.status());
  Result<ReasonsToEnd> reasons = ReasonsToEnd::Watch(order->common);
  if (!reasons.ok()) return failed(reasons.status());
  const Result<v1::ProcessIdentity> self = IdentifyProcess(::getpid());
  if (!self.ok()) return failed(self.status());
  const Result<ProcessHandle> keeper = ProcessHandle::Open(*self);
  if (!keeper.ok()) return failed(keeper.status());

  const pid_t child = ::fork();
  if (child < 0) return failed(ErrnoStatus("fork", "the server"));
  if (child == 0) {
    reasons->Add(keeper->fd());
    const Status served = Serve(*order, *reasons);
    ::_exit(served.ok() ? 0 : failed(served));
  }
  CloseStatus();
  const Result<v1::ProcessIdentity> child_identity = IdentifyProcess(child);
  const Result<ProcessHandle> server =
      child_identity.ok() ? ProcessHandle::Open(*child_identity) : Result<ProcessHandle>(child_identity.status());
  if (server.ok()) {
    reasons->Add(server->fd());
    reasons->Before(order->common.until);
  }
  // The server sees this process end, if nothing else, and becomes transparent.
  return UnmountOverlays(order->common.token).ok() ? 0 : 1;
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
