#include "injectors/os/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/injectors/child.h"

namespace triodrill {
namespace {

using testing::TemporaryDirectory;

constexpr char kHybrid[] =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
constexpr char kUnified[] = "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kInContainer[] = "30 23 0:27 /docker/ab\\040c /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";

std::string Directory(const char* proc_cgroup, const char* mountinfo, const char* controller = "cpu") {
  const auto path = ParseCgroupPath(proc_cgroup, controller);
  if (!path.has_value()) return "(none)";
  const auto directory = DirectoryOf(*path, ParseCgroupMounts(mountinfo));
  return directory.ok() ? *directory : "(not shown)";
}

TEST(Cgroup, OfTheCpuControllerIsFoundInEitherVersion) {
  EXPECT_EQ(Directory("4:memory:/a\n2:cpu,cpuacct:/job/7\n0::/x\n", kHybrid), "/sys/fs/cgroup/cpu,cpuacct/job/7");
  EXPECT_EQ(Directory("1:cpu:/\n0::/x\n", kHybrid), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(Directory("0::/system.slice/job.service\n", kUnified), "/sys/fs/cgroup/system.slice/job.service");
  EXPECT_EQ(Directory("2:cpu:/docker/ab c/in\n", kInContainer), "/sys/fs/cgroup/cpu/in");
  EXPECT_EQ(Directory("2:cpu:/docker/ab c\n", kInContainer), "/sys/fs/cgroup/cpu");
}

TEST(Cgroup, OfTheMemoryControllerIsAnother) {
  EXPECT_EQ(Directory("4:memory:/a\n2:cpu,cpuacct:/job/7\n0::/x\n", kHybrid, "memory"), "/sys/fs/cgroup/memory/a");
  EXPECT_EQ(Directory("2:cpu:/job\n0::/x\n", kHybrid, "memory"), "/sys/fs/cgroup/unified/x");
}

TEST(Cgroup, ThatNoMountShowsIsNotGuessed) {
  EXPECT_EQ(Directory("2:cpu:/elsewhere\n", kInContainer), "(not shown)");
  EXPECT_EQ(Directory("0::/../outside\n", kUnified), "(not shown)");
  EXPECT_EQ(Directory("1:cpu:/job\n", kUnified), "(not shown)");
  EXPECT_EQ(Directory("4:memory:/a\n", kHybrid), "(none)");
}

TEST(CpuMax, IsAQuotaOrNone) {
  EXPECT_EQ(ParseCpuMax("20000 100000\n")->quota_us, 20000);
  EXPECT_EQ(ParseCpuMax("max 100000\n")->quota_us, std::nullopt);
  EXPECT_EQ(ParseCpuMax("max 50000\n")->period_us, 50000);
  for (const char* text : {"", "max", "x 100000", "1 2 3"}) EXPECT_FALSE(ParseCpuMax(text).ok()) << text;
}

TEST(CpuStat, GivesTheThrottledCount) {
  EXPECT_EQ(*ParseCounter("usage_usec 5\nnr_periods 9\nnr_throttled 7\n", "nr_throttled"), 7);
  EXPECT_FALSE(ParseCounter("usage_usec 5\n", "nr_throttled").ok());
}

// A v2 hierarchy as files: good for where a cgroup would go, not for what the kernel does with it.
class V2Place : public ::testing::Test {
 protected:
  void Make(const std::string& cgroup, const std::string& controllers, const std::string& subtree) {
    const std::string path = root_.path() + cgroup;
    std::filesystem::create_directories(path);
    std::ofstream(path + "/cgroup.controllers") << controllers << '\n';
    std::ofstream(path + "/cgroup.subtree_control") << subtree << '\n';
    std::ofstream(path + "/cgroup.type") << "domain\n";
    std::ofstream(path + "/cgroup.procs");
  }
  TemporaryDirectory root_;
};

TEST_F(V2Place, IsBesideTheProcessesOwnCgroup) {
  Make("/slice", "cpu memory", "cpu memory");
  Make("/slice/job", "cpu memory", "");
  const auto place = PlaceFor({2, root_.path() + "/slice/job", false}, "cpu");
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->parent, root_.path() + "/slice");
  EXPECT_FALSE(place->enable);
}

TEST_F(V2Place, IsUnderTheTop) {
  Make("", "cpuset cpu", "memory");
  const auto place = PlaceFor({2, root_.path(), true}, "cpu");
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->parent, root_.path());
  EXPECT_TRUE(place->enable) << "the controller is there and has to be given to children first";
}

TEST_F(V2Place, IsNowhereWithoutTheController) {
  Make("/slice", "memory", "memory");
  Make("/slice/job", "memory", "");
  const auto place = PlaceFor({2, root_.path() + "/slice/job", false}, "cpu");
  EXPECT_TRUE(absl::IsFailedPrecondition(place.status())) << place.status();
}

TEST_F(V2Place, IsNotForThreadedCgroups) {
  Make("/slice", "cpu", "cpu");
  Make("/slice/job", "cpu", "");
  std::ofstream(root_.path() + "/slice/job/cgroup.type") << "threaded\n";
  EXPECT_FALSE(PlaceFor({2, root_.path() + "/slice/job", false}, "cpu").ok());
}

}  // namespace
}  // namespace triodrill
