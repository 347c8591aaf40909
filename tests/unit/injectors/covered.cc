#include "tests/unit/injectors/covered.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "injectors/os/fd.h"
#include "injectors/os/file.h"
#include "injectors/process/helper_order.h"
#include "injectors/storage/mounts.h"
#include "injectors/storage/overlay_order.h"
#include "injectors/storage/overlay_place.h"

namespace triodrill::testing {

Written WriteTo(int fd, size_t bytes, size_t block) {
  const std::string text(block, 'x');
  Written written;
  while (written.bytes < bytes) {
    const ssize_t got = ::write(fd, text.data(), std::min(block, bytes - written.bytes));
    if (got < 0) {
      written.error = errno;
      return written;
    }
    written.bytes += static_cast<size_t>(got);
  }
  return written;
}

Written WriteFile(const std::string& path, size_t bytes, int flags) {
  const UniqueFd fd(::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0644));
  if (!fd.valid()) return {0, errno};
  return WriteTo(fd.get(), bytes);
}

void Covered::SetUp() {
  std::filesystem::create_directories(In("step-10"));
  std::ofstream(In("step-10/shard-0.ckpt")) << "all that was learnt";
  std::ofstream(In("latest")) << "10\n";
  const Status possible = CheckMayMount("storage.full");
  if (!possible.ok()) GTEST_SKIP() << possible.message();
}

void Covered::TearDown() {
  for (const v1::UndoRecord& record : applied_) {
    const Status reverted = For(record).Revert(record);
    EXPECT_TRUE(reverted.ok()) << reverted;
  }
}

v1::AimedFault Covered::Full(int64_t after_bytes, bool quota) const {
  v1::AimedFault fault = Aim("storage.full", child_.identity());
  fault.mutable_with()->mutable_storage_full()->set_after_bytes(after_bytes);
  fault.mutable_with()->mutable_storage_full()->set_quota(quota);
  return fault;
}

v1::AimedFault Covered::Slow(Nanos delay, int64_t bytes_per_second) const {
  v1::AimedFault fault = Aim("storage.slow", child_.identity());
  *fault.mutable_with()->mutable_storage_slow()->mutable_delay() = ToProto(delay);
  fault.mutable_with()->mutable_storage_slow()->set_bytes_per_second(bytes_per_second);
  return fault;
}

v1::UndoRecord Covered::Prepared(const v1::AimedFault& fault) {
  v1::UndoRecord record;
  *record.mutable_fault() = fault;
  auto prepared = For(record).Prepare(fault);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  if (!prepared.ok()) return record;
  prepared->set_max_hold_ns(Nanos(std::chrono::seconds(50)).count());
  return *prepared;
}

v1::UndoRecord Covered::Applied(const v1::AimedFault& fault) {
  v1::UndoRecord record = Prepared(fault);
  const Status applied = For(record).Apply(record);
  EXPECT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(Mounts(record), 1);
  applied_.push_back(record);
  return record;
}

Effect Covered::Look(const v1::UndoRecord& record) const {
  const auto effect = For(record).Inspect(record);
  EXPECT_TRUE(effect.ok()) << effect.status();
  return effect.value_or(Effect{});
}

void Covered::ExpectUncovered(const v1::UndoRecord& record) {
  for (int again = 0; again < 2; ++again) {
    const Status reverted = For(record).Revert(record);
    EXPECT_TRUE(reverted.ok()) << reverted;
    EXPECT_EQ(Look(record).presence, Presence::kAbsent) << Look(record).evidence;
    EXPECT_EQ(Mounts(record), 0);
  }
  EXPECT_EQ(ReadFile(In("step-10/shard-0.ckpt")).value_or("<none>"), "all that was learnt");
  EXPECT_EQ(WriteFile(In("afterwards"), 100, O_CREAT).error, 0);
  EXPECT_TRUE(std::filesystem::remove(In("afterwards")));
}

size_t Covered::Mounts(const v1::UndoRecord& record) {
  const auto mounts = ReadMounts();
  return mounts.ok() ? OverlaysIn(*mounts, record.overlay().token()).size() : 99;
}

std::vector<pid_t> Covered::Programs(const v1::UndoRecord& record) {
  std::vector<pid_t> pids;
  const std::string argument = TokenArgument(record.overlay().token());
  const auto names = ListDirectory("/proc");
  for (const std::string& name : *names) {
    const auto command = ReadFile(Cat("/proc/", name, "/cmdline"));
    if (command.ok() && command->find(argument) != std::string::npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

bool Covered::IsServer(pid_t pid) {
  const auto stat = ReadProcessStat(pid);
  return stat.ok() && stat->name.starts_with(kOverlayCount);
}

}  // namespace triodrill::testing
