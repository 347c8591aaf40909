// A job whose network goes away under it: in a network namespace of its own, so this program has this one test.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "tests/unit/shadow_trainer/job.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

void WriteTo(const char* file, const std::string& text) {
  const OwnedFd fd(open(file, O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(fd.valid()) << file;
  ASSERT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size())) << file;
}

void SetLoopback(bool up) {
  const OwnedFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  ASSERT_EQ(ioctl(any.get(), SIOCGIFFLAGS, &request), 0);
  request.ifr_flags = static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  ASSERT_EQ(ioctl(any.get(), SIOCSIFFLAGS, &request), 0);
}

TEST(TrainerJobNetwork, AHaltFreesRanksWhoseInterfaceIsDown) {
  const uid_t user = geteuid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
    GTEST_SKIP() << "user and network namespaces: " << strerrordesc_np(errno);
  WriteTo("/proc/self/uid_map", Cat("0 ", user, " 1"));
  SetLoopback(true);
  Job job;
  job.StartAll();
  Join join;
  join.source = "scratch";
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(join)));
  ASSERT_TRUE(job.UntilStep(5));

  SetLoopback(false);
  int64_t seen = -1;
  ASSERT_TRUE(job.Until([&] {
    const bool stands = job.rank(0).beat.step == seen && job.rank(0).beats > 10;
    if (job.rank(0).beat.step != seen) job.rank(0).beats = 0;
    seen = job.rank(0).beat.step;
    return stands;
  }));
  for (const int rank : job.All()) EXPECT_TRUE(job.rank(rank).failed.empty()) << "nothing says so: it hangs";
  job.OrderHalt(job.All());
  EXPECT_TRUE(job.UntilHalted(job.All(), 15'000));

  // A join in the dark fails or hangs; either way the next order is obeyed.
  join.source = "kept";
  job.OrderJoin(join);
  ASSERT_TRUE(job.Until([&] { return job.rank(0).beats > 30; }));
  job.OrderHalt(job.All());
  EXPECT_TRUE(job.UntilHalted(job.All(), 15'000));
  SetLoopback(true);
  ASSERT_TRUE(job.UntilAllJoined(job.OrderJoin(join)));
  EXPECT_GE(job.rank(0).joined.back().step, seen - 1);
  ASSERT_TRUE(job.UntilStep(seen + 20));
  StateHashes states = job.Logged();
  states.erase(states.upper_bound((seen + 20) / 10 * 10), states.end());
  EXPECT_EQ(states, job.Reference((seen + 20) / 10 * 10));
}

}  // namespace
}  // namespace triodrill::shadow::trainer
