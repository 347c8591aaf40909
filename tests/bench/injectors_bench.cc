// What an injector adds to the system calls that its fault cannot do without, and what running a program for it would
// cost instead: from the word to fire until the effect was seen. Each round does all of them, in turn, each on a target
// of its own; printed are medians and their ratios. Run by `./dev bench injectors [ROUNDS]`, never by CTest.
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "injectors/catalog.h"
#include "injectors/os/cgroup.h"
#include "injectors/os/fd.h"
#include "tests/unit/injectors/child.h"
#include "tests/unit/injectors/net.h"
#include "triodrill/injector.h"
#include "triodrill/text.h"

namespace triodrill::testing {
namespace {

double NowUs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "injectors_bench: %s\n", what.c_str());
  std::exit(EXIT_FAILURE);
}

void Check(const Status& status) {
  if (!status.ok()) Fail(std::string(status.message()));
}

double Timed(const std::function<void()>& work) {
  const double from = NowUs();
  work();
  return NowUs() - from;
}

// Fire until landed, as the agent does it: apply, then look until it is there. Then the undo, which is not counted.
double Injected(const v1::AimedFault& fault, bool prove = true) {
  const std::unique_ptr<Injector> injector = FindInjector(fault.kind())->make();
  const Result<v1::UndoRecord> record = injector->Prepare(fault);
  Check(record.status());
  const double took = Timed([&] {
    Check(injector->Apply(*record));
    while (prove) {
      const Result<Effect> effect = injector->Inspect(*record);
      Check(effect.status());
      if (effect->presence == Presence::kPresent) break;
    }
  });
  Check(injector->Revert(*record));
  return took;
}

char StateOf(const std::string& stat_file) {
  char text[512] = {};
  const UniqueFd fd(::open(stat_file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::read(fd.get(), text, sizeof text - 1) <= 0) Fail("read " + stat_file);
  return std::strrchr(text, ')')[2];
}

void WaitUntilStopped(pid_t pid) {
  const std::string stat = Cat("/proc/", pid, "/stat");
  while (StateOf(stat) != 'T') {
  }
}

void WaitUntilDead(int pidfd) {
  pollfd dead{pidfd, POLLIN, 0};
  if (::poll(&dead, 1, -1) != 1) Fail("poll a pidfd");
}

int OpenPidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

void Send(int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) != 0) Fail("send a signal");
}

void Run(const std::vector<std::string>& arguments) {
  const Finished finished = RunProgram(arguments);
  if (finished.code != 0) Fail(Cat("run ", arguments[0], ": ", finished.err));
}

double KillInjected() {
  const Child child = Child::Idle();
  return Injected(Aim("process.kill", child.identity()));
}
double KillBare() {
  const Child child = Child::Idle();
  return Timed([&] {
    const UniqueFd pidfd(OpenPidfd(child.pid()));
    Send(pidfd.get(), SIGKILL);
    WaitUntilDead(pidfd.get());
  });
}
double KillByProgram() {
  const Child child = Child::Idle();
  const UniqueFd pidfd(OpenPidfd(child.pid()));
  return Timed([&] {
    Run({"kill", "-KILL", Cat(child.pid())});
    WaitUntilDead(pidfd.get());
  });
}

double PauseInjected() {
  const Child child = Child::Idle();
  return Injected(Aim("process.pause", child.identity()));
}
double PauseBare() {
  const Child child = Child::Idle();
  return Timed([&] {
    const UniqueFd pidfd(OpenPidfd(child.pid()));
    Send(pidfd.get(), SIGSTOP);
    WaitUntilStopped(child.pid());
  });
}
double PauseByProgram() {
  const Child child = Child::Idle();
  return Timed([&] {
    Run({"kill", "-STOP", Cat(child.pid())});
    WaitUntilStopped(child.pid());
  });
}

constexpr char kLink[] = "trio0";

short FlagsOf(int socket) {
  ifreq request{};
  std::strcpy(request.ifr_name, kLink);
  if (::ioctl(socket, SIOCGIFFLAGS, &request) != 0) Fail("read the flags of a link");
  return request.ifr_flags;
}

void WaitUntilUp() {
  if (!Eventually([] {
        const auto prior = PriorOf(kLink);
        return prior.ok() && (prior->flags() & IFF_RUNNING) != 0;
      })) {
    Fail("the link never came up again");
  }
}

double DownInjected() {
  WaitUntilUp();
  const auto identity = IdentifyLink(kLink);
  Check(identity.status());
  return Injected(Aim("link.down", *identity));
}
double DownBare() {
  WaitUntilUp();
  const double took = Timed([] {
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, kLink);
    request.ifr_flags = static_cast<short>(FlagsOf(socket.get()) & ~IFF_UP);
    if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) Fail("take a link down");
    while ((FlagsOf(socket.get()) & IFF_RUNNING) != 0) {
    }
  });
  Check(SetUp(kLink, true));
  return took;
}
double DownByProgram() {
  WaitUntilUp();
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const double took = Timed([&] {
    Run({"ip", "link", "set", "dev", kLink, "down"});
    while ((FlagsOf(socket.get()) & IFF_RUNNING) != 0) {
    }
  });
  Check(SetUp(kLink, true));
  return took;
}

double QuotaInjected() {
  const Child child = Child::Idle();
  // Its proof waits for the kernel to withhold time, which nobody can hurry; the writes are what is compared.
  return Injected(Aim("cpu.throttle", child.identity()), false);
}
void WriteFile(const std::string& path, const std::string& text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid() || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    Fail("write " + path);
  }
}
double QuotaBare() {
  const Child child = Child::Idle();
  const auto own = FindCgroup(child.pid(), "cpu");
  Check(own.status());
  const auto place = PlaceFor(*own, "cpu");
  Check(place.status());
  const std::string made = Cat(place->parent, "/triodrill-bench-", ::getpid());
  const std::string pid = Cat(child.pid());
  const double took = Timed([&] {
    if (::mkdir(made.c_str(), 0755) != 0) Fail("make " + made);
    if (own->version == 2) {
      WriteFile(made + "/cpu.max", "20000 100000");
    } else {
      WriteFile(made + "/cpu.cfs_period_us", "100000");
      WriteFile(made + "/cpu.cfs_quota_us", "20000");
    }
    WriteFile(made + "/cgroup.procs", pid);
  });
  WriteFile(own->directory + "/cgroup.procs", pid);
  if (!Eventually([&] { return ::rmdir(made.c_str()) == 0; })) Fail("remove " + made);
  return took;
}

struct Row {
  const char* name;
  double (*injected)();
  double (*bare)();
  double (*by_program)();  // null: there is no program for it
  const char* program;
};

double Median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Measure(const Row& row, int rounds) {
  std::vector<double> injected;
  std::vector<double> bare;
  std::vector<double> by_program;
  for (int round = 0; round < rounds; ++round) {
    injected.push_back(row.injected());
    bare.push_back(row.bare());
    if (row.by_program != nullptr) by_program.push_back(row.by_program());
  }
  const double ours = Median(injected);
  const double floor = Median(bare);
  std::printf("%-14s n %d  injector %8.1f us  bare calls %8.1f us  ratio %5.2f", row.name, rounds, ours, floor,
              ours / floor);
  if (row.by_program != nullptr) {
    const double program = Median(by_program);
    std::printf("  %-6s %8.1f us = %5.1f injectors", row.program, program, program / ours);
  }
  std::printf("\n");
}

}  // namespace
}  // namespace triodrill::testing

int main(int argc, char** argv) {
  using namespace triodrill::testing;  // NOLINT(google-build-using-namespace): a main of its own
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  if (rounds < 1) Fail("usage: injectors_bench [ROUNDS]");
  Check(EnterOwnNetwork());
  Check(MakePair(kLink, "trio1"));
  const Row rows[] = {
      {"process.kill", KillInjected, KillBare, KillByProgram, "kill"},
      {"process.pause", PauseInjected, PauseBare, PauseByProgram, "kill"},
      {"link.down", DownInjected, DownBare, DownByProgram, "ip"},
      {"cpu.throttle", QuotaInjected, QuotaBare, nullptr, ""},
  };
  std::printf("medians, from the word to fire until the effect was seen (cpu.throttle: until it was written)\n");
  for (const Row& row : rows) Measure(row, rounds);
  return EXIT_SUCCESS;
}
