// triodrill-trainer: one rank of the embedded shadow partition's training job. See drills/README.md.
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "absl/strings/str_format.h"
#include "drills/shadow/owned_fd.h"
#include "drills/shadow/system_clock.h"
#include "drills/shadow/trainer/control.h"
#include "drills/shadow/trainer/reference.h"
#include "drills/shadow/trainer/trainer.h"
#include "triodrill/exit_code.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

constexpr std::chrono::seconds kEndWithin{2};
constexpr std::chrono::milliseconds kInterruptAgain{10};

int PrintReference(const Options& options) {
  RunReference(options.layout, options.seed, options.steps, [&](const ReferencePoint& point) {
    if (point.step % options.every != 0) return;
    for (size_t shard = 0; shard < point.hashes.size(); ++shard) {
      std::cout << absl::StrFormat("state step=%d shard=%d hash=%016x\n", point.step, shard, point.hashes[shard]);
    }
  });
  return 0;
}

struct Descriptors {
  OwnedFd wakeup;
  OwnedFd signals;
};

// Signals are blocked before the first thread starts, so that all threads leave them to the signalfd.
Result<Descriptors> Prepare(const Options& options) {
  int type = 0;
  socklen_t length = sizeof type;
  if (getsockopt(kControlFd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) {
    return absl::FailedPreconditionError(
        Cat("descriptor ", kControlFd, ": no SOCK_SEQPACKET socket; the trainer is started by triodrill-node"));
  }
  if (fcntl(kControlFd, F_SETFD, FD_CLOEXEC) != 0) return ErrnoStatus("close on exec", "the control socket");
  if (chdir(options.run_dir.c_str()) != 0) return ErrnoStatus("change to the run directory", options.run_dir);
  signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGINT);
  if (pthread_sigmask(SIG_BLOCK, &blocked, nullptr) != 0) return ErrnoStatus("block", "SIGTERM");
  Descriptors made{OwnedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), OwnedFd(signalfd(-1, &blocked, SFD_CLOEXEC))};
  if (!made.wakeup.valid() || !made.signals.valid()) return ErrnoStatus("make", "eventfd and signalfd");
  return made;
}

// Waits for the training thread, which may be in a collective; false if it does not come back.
bool End(Orders& orders, MeshGuard& guard, const std::future<void>& done) {
  orders.Give(Stop{});
  for (std::chrono::milliseconds waited{0}; waited < kEndWithin; waited += kInterruptAgain) {
    orders.IfBehind([&] { guard.Interrupt(); });
    if (done.wait_for(kInterruptAgain) == std::future_status::ready) return true;
  }
  return false;
}

Status Train(const Options& options, ShownRank shown) {
  TRIODRILL_ASSIGN_OR_RETURN(const Descriptors fds, Prepare(options));
  Vitals vitals;
  TRIODRILL_ASSIGN_OR_RETURN(ProgressLog log, ProgressLog::Open(Cat("progress-", options.node, ".log"), vitals));
  std::optional<gpu::HeldGpu> device;
  if (!options.gpu_state.empty()) {
    TRIODRILL_ASSIGN_OR_RETURN(gpu::HeldGpu opened, gpu::HeldGpu::Open(options.gpu_state, options.gpu));
    device.emplace(std::move(opened));
  }
  SystemClock clock;
  Orders orders;
  MeshGuard guard;
  Outbox outbox(fds.wakeup.get());
  outbox.Post(Hello{options.rank, getpid()});
  std::promise<void> finished;
  const std::future<void> done = finished.get_future();
  // An exception that gets here ends the process, which is what it should come to.
  std::thread thread([&] {
    Trainer(options, clock, orders, guard, outbox, vitals, log, device ? &*device : nullptr, shown).Run();
    finished.set_value();
  });
  Control control({kControlFd, fds.wakeup.get(), fds.signals.get()}, options.heartbeat, clock, orders, guard, outbox,
                  vitals);
  control.Run();
  // A disk that hangs must not keep a process that nobody wants. Nothing is lost: a checkpoint is whole or not there.
  if (!End(orders, guard, done)) _exit(0);
  thread.join();
  return Ok();
}

int Main(int argc, char** argv) {
  const std::variant<Options, int> parsed = ParseOptions(argc, argv);
  if (const int* const code = std::get_if<int>(&parsed)) return *code;
  const Options& options = std::get<Options>(parsed);
  if (options.reference) return PrintReference(options);
  const Status status = Train(options, ShownRank::Find(argc, argv));
  if (status.ok()) return 0;
  std::cerr << Cat("triodrill-trainer: error: ", std::string(status.message()), "\n");
  return static_cast<int>(ExitCode::kInternal);
}

}  // namespace
}  // namespace triodrill::shadow::trainer

int main(int argc, char** argv) { return triodrill::shadow::trainer::Main(argc, argv); }
