#include "tests/unit/injectors/child.h"
#include "triodrill/time.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "injectors/os/clock.h"
#include "injectors/os/file.h"

namespace triodrill::testing {

Child::Child(const std::function<void()>& body) : pid_(::fork()) {
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that dies leaves nothing behind
  body();
  ::_exit(0);
}

Child Child::Idle(int threads) {
  int ready[2];
  if (::pipe(ready) != 0) ::abort();
  Child child([&] {
    for (int i = 1; i < threads; ++i) {
      std::thread([] {
        while (true) ::pause();
      }).detach();
    }
    [[maybe_unused]] const ssize_t wrote = ::write(ready[1], "r", 1);
    while (true) ::pause();
  });
  char byte = 0;
  [[maybe_unused]] const ssize_t got = ::read(ready[0], &byte, 1);
  ::close(ready[0]);
  ::close(ready[1]);
  return child;
}

Child Child::Named(const std::string& name) {
  Child child([&] { ::execl("/bin/sleep", name.c_str(), "1000000", nullptr); });
  if (!Eventually([&] { return ReadCommandLine(child.pid()).value_or("").starts_with(name + " "); })) ::abort();
  return child;
}

Child Child::Growing() {
  return Child([] {
    constexpr size_t kPage = 4096;
    while (true) {
      auto* page = static_cast<volatile char*>(::malloc(kPage));
      if (page != nullptr) *page = 1;
      ::usleep(1000);
    }
  });
}

LaunchedChild::LaunchedChild(const std::string& name)
    : launcher_([name] {
        // Its own child first: the program that it becomes starts none.
        const pid_t launcher = ::getpid();
        if (::fork() == 0) {
          ::prctl(PR_SET_PDEATHSIG, SIGKILL);
          // The launcher may have been ended before that was said.
          while (::getppid() == launcher) ::pause();
          ::_exit(0);
        }
        ::execl("/bin/sleep", name.c_str(), "1000000", nullptr);
      }) {
  const auto child = [&] {
    const auto text = ReadFile(Cat("/proc/", launcher_.pid(), "/task/", launcher_.pid(), "/children"));
    return std::atoi(text.value_or("0").c_str());
  };
  const bool ready =
      Eventually([&] { return child() > 0 && ReadCommandLine(launcher_.pid()).value_or("").starts_with(name + " "); });
  if (!ready) ::abort();
  rank_ = IdentifyProcess(child()).value_or(v1::ProcessIdentity());
}

Child Child::Busy() {
  return Child([] {
    volatile unsigned long count = 0;
    while (true) count = count + 1;
  });
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

v1::ProcessIdentity Child::identity() const {
  const Result<v1::ProcessIdentity> identity = IdentifyProcess(pid_);
  return identity.ok() ? *identity : v1::ProcessIdentity();
}

void Child::Kill() const { ::kill(pid_, SIGKILL); }

int Child::Reap() {
  int status = -1;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return status;
}

char Child::State() const {
  const Result<ProcessStat> stat = ReadProcessStat(pid_);
  return stat.ok() ? stat->state : '-';
}

namespace {

// Of the faults on links and on whole nodes.
void SetOfNetwork(const std::string& kind, v1::Parameters& with) {
  if (kind == "link.down") with.mutable_link_down();
  if (kind == "link.flap") {
    *with.mutable_link_flap()->mutable_period() = ToProto(std::chrono::milliseconds(200));
    with.mutable_link_flap()->set_duty(0.5);
  }
  if (kind == "node.lost") with.mutable_node_lost()->set_match(Cat("^", NodeJobName(), " "));
  if (kind == "node.flapping") {
    v1::NodeFlapping& flapping = *with.mutable_node_flapping();
    *flapping.mutable_period() = ToProto(std::chrono::milliseconds(200));
    flapping.set_duty(0.5);
    flapping.set_match(Cat("^", NodeJobName(), " "));
  }
  if (kind == "link.rate") with.mutable_link_rate()->set_rate(10'000'000);
  if (kind == "link.delay") {
    *with.mutable_link_delay()->mutable_delay() = ToProto(std::chrono::milliseconds(20));
  }
  if (kind == "link.loss") with.mutable_link_loss()->set_share(1);
  if (kind == "link.corrupt") with.mutable_link_corrupt()->set_share(0.5);
  if (kind == "link.partition") {
    with.mutable_link_partition()->add_peers("10.77.0.10");
    with.mutable_link_partition()->set_direction(v1::BOTH);
  }
  if (kind == "link.blackhole") with.mutable_link_blackhole()->add_destinations("10.77.0.10");
}

// Of the faults on GPUs.
void SetOfGpus(const std::string& kind, v1::Parameters& with) {
  if (kind == "gpu.clock_lock") with.mutable_gpu_clock_lock()->set_clock(40);
  if (kind == "gpu.power_cap") with.mutable_gpu_power_cap()->set_limit(50);
  if (kind == "gpu.burn") with.mutable_gpu_burn()->set_duty(20);
  if (kind == "gpu.xid") with.mutable_gpu_xid()->set_xid(79);
  if (kind == "gpu.hang") with.mutable_gpu_hang();
  if (kind != "gpu.dcgm_field") return;
  with.mutable_gpu_dcgm_field()->set_field(230);
  with.mutable_gpu_dcgm_field()->set_value(79);
  *with.mutable_gpu_dcgm_field()->mutable_every() = ToProto(std::chrono::milliseconds(100));
}

v1::AimedFault Fault(const std::string& kind, const std::string& shot) {
  v1::AimedFault fault;
  fault.set_shot(shot);
  fault.set_run_id(Cat("test-", ::getpid()));
  fault.set_kind(kind);
  SetOfNetwork(kind, *fault.mutable_with());
  if (kind == "process.kill") fault.mutable_with()->mutable_process_kill();
  if (kind == "process.pause") fault.mutable_with()->mutable_process_pause();
  if (kind == "cpu.throttle") fault.mutable_with()->mutable_cpu_throttle()->set_quota(20);
  if (kind == "process.crash_loop")
    fault.mutable_with()->mutable_process_crash_loop()->set_match("^triodrill-test-job ");
  if (kind == "environment.drift") {
    fault.mutable_with()->mutable_environment_drift()->set_amplitude(5);
    *fault.mutable_with()->mutable_environment_drift()->mutable_period() = ToProto(std::chrono::seconds(10));
  }
  if (kind == "tensor.flip") {
    fault.mutable_with()->mutable_tensor_flip()->set_bit(30);
    fault.mutable_with()->mutable_tensor_flip()->set_index(-1);
  }
  if (kind == "tensor.scale") fault.mutable_with()->mutable_tensor_scale()->set_factor(2);
  if (kind == "tensor.stuck_lane") fault.mutable_with()->mutable_tensor_stuck_lane()->set_bit(31);
  if (kind == "tensor.stale") fault.mutable_with()->mutable_tensor_stale()->set_tensor("weights");
  if (kind == "tensor.nan") fault.mutable_with()->mutable_tensor_nan();
  SetOfGpus(kind, *fault.mutable_with());
  if (kind == "process.oom") fault.mutable_with()->mutable_process_oom();
  if (kind == "process.exit_agent")
    fault.mutable_with()->mutable_process_exit_agent()->set_match("^triodrill-test-job ");
  if (kind == "storage.full") fault.mutable_with()->mutable_storage_full();
  if (kind == "storage.slow") {
    *fault.mutable_with()->mutable_storage_slow()->mutable_delay() = ToProto(std::chrono::milliseconds(5));
  }
  if (kind == "storage.torn_write") fault.mutable_with()->mutable_storage_torn_write()->set_keep(0.5);
  if (kind == "storage.stale_latest") fault.mutable_with()->mutable_storage_stale_latest();
  if (kind == "cpu.leak") {
    fault.mutable_with()->mutable_cpu_leak()->set_rate(16 << 20);
    fault.mutable_with()->mutable_cpu_leak()->set_most(8 << 20);
    fault.mutable_with()->mutable_cpu_leak()->set_reserve(5);
  }
  if (kind == "collective.corrupt") {
    fault.mutable_with()->mutable_collective_corrupt()->set_moment(v1::MOMENT_AFTER);
    fault.mutable_with()->mutable_collective_corrupt()->set_bit(-1);
  }
  if (kind == "collective.delay") {
    *fault.mutable_with()->mutable_collective_delay()->mutable_delay() = ToProto(std::chrono::milliseconds(5));
  }
  if (kind == "collective.hang") fault.mutable_with()->mutable_collective_hang();
  if (kind == "collective.desync") fault.mutable_with()->mutable_collective_desync();
  if (kind == "storage.flip") fault.mutable_with()->mutable_storage_flip()->set_position(0.5);
  if (kind == "cpu.stutter") {
    *fault.mutable_with()->mutable_cpu_stutter()->mutable_run() = ToProto(std::chrono::milliseconds(5));
    *fault.mutable_with()->mutable_cpu_stutter()->mutable_stop() = ToProto(std::chrono::milliseconds(5));
  }
  return fault;
}

}  // namespace

std::string NodeJobName() { return Cat("triodrill-test-node-", ::getpid()); }

v1::AimedFault Aim(const std::string& kind, const v1::ProcessIdentity& target, const std::string& shot) {
  v1::AimedFault fault = Fault(kind, shot);
  *fault.mutable_target()->mutable_process() = target;
  return fault;
}

v1::AimedFault Aim(const std::string& kind, const v1::LinkIdentity& target, const std::string& shot) {
  v1::AimedFault fault = Fault(kind, shot);
  *fault.mutable_target()->mutable_link() = target;
  return fault;
}

Finished RunProgram(const std::vector<std::string>& arguments) {
  const TemporaryDirectory directory;
  const std::string out = directory.path() + "/out";
  const std::string err = directory.path() + "/err";
  Child child([&] {
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    std::vector<std::string> copy = arguments;
    std::vector<char*> vector;
    for (std::string& argument : copy) vector.push_back(argument.data());
    vector.push_back(nullptr);
    ::execvp(vector[0], vector.data());
    ::_exit(127);
  });
  const int status = child.Reap();
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(out).value_or(""), ReadFile(err).value_or("")};
}

bool Eventually(const std::function<bool()>& condition) { return LookUntil(std::chrono::seconds(10), condition); }

TemporaryDirectory::TemporaryDirectory() {
  std::string path = (std::filesystem::temp_directory_path() / "triodrill-test-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) ::abort();
  path_ = path;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

bool KillUnawares(std::vector<pid_t> pids) {
  for (const pid_t pid : pids) ::kill(pid, SIGSTOP);
  for (const pid_t pid : pids) {
    if (!Eventually([pid] { return ReadProcessStat(pid).value_or(ProcessStat{}).state == 'T'; })) return false;
  }
  while (!pids.empty()) {
    const auto is_parent = [&](pid_t pid) {
      return std::any_of(pids.begin(), pids.end(),
                         [pid](pid_t other) { return ReadProcessStat(other).value_or(ProcessStat{}).parent == pid; });
    };
    const auto next = std::find_if_not(pids.begin(), pids.end(), is_parent);
    const pid_t pid = *next;
    pids.erase(next);
    ::kill(pid, SIGKILL);
    const auto ended = [pid] {
      const auto stat = ReadProcessStat(pid);
      return !stat.ok() || stat->Dead();
    };
    if (!Eventually(ended)) return false;
  }
  return true;
}

}  // namespace triodrill::testing
