// A coordinator that says anything, in any order: the agent never makes an effect that it has not recorded, and once it
// is told to end nothing of any effect is left.
#include <gtest/gtest.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/agent/core_rig.h"

namespace triodrill::agent {
namespace {

constexpr const char* kShots[] = {"1.a.0", "1.b.0", "2.a.0", "../1.a.0"};
constexpr const char* kKinds[] = {"process.pause", "link.down", "cpu.throttle"};
constexpr const char* kKillShot = "3.k.0";  // what it does is not taken back

void RecordsFirst(CoreRig& rig) {
  rig.node.effects.erase(kKillShot);
  for (const std::string& effect : rig.node.effects) {
    fuzz::Must(rig.node.records.contains(effect), "an effect without a record");
  }
}

// One thing that is said or happens.
void Next(fuzz::Bytes& bytes, CoreRig& rig) {
  const uint8_t what = bytes.Byte();
  const std::string shot = kShots[bytes.Byte() % std::size(kShots)];
  switch (what % 14) {
    case 0:
      return rig.Connect(bytes.Byte() % 2 == 0 ? "r1" : "r2");
    case 1:
      return rig.Feed(LinkDown{});
    case 2:
      return rig.Prepare(CoreRig::Ask(shot, kKinds[bytes.Byte() % std::size(kKinds)]));
    case 3:
      return rig.Arm(shot, std::chrono::milliseconds(int64_t{bytes.Byte()} * 16 - 500));
    case 4:
      return rig.Revert(shot);
    case 5:
      return rig.Cancel(shot);
    case 6:
      return rig.RenewLease();
    case 7:
      return rig.Goodbye();
    case 8:
      return rig.Advance(std::chrono::milliseconds(int64_t{bytes.Byte()} * 50));
    case 9:
      rig.node.resource = bytes.Byte() % 2 == 0 ? "process/7@1/state" : "link/eth0";
      return;
    case 10:
      rig.node.looks_until_present = bytes.Byte() % 4;
      rig.node.looks_until_absent = bytes.Byte() % 4;
      return;
    case 11:
      return rig.Prepare(CoreRig::Ask(kKillShot, "process.kill"));
    case 12:
      return rig.Arm(kKillShot);
    default: {
      v1::CoordinatorSays says;
      if (says.ParseFromString(std::string(bytes.Some()))) rig.Hear(says);
    }
  }
}

}  // namespace
}  // namespace triodrill::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  triodrill::fuzz::Bytes bytes(data, std::min<size_t>(size, 4096));
  triodrill::agent::CoreRig rig;
  while (!bytes.empty()) {
    triodrill::agent::Next(bytes, rig);
    triodrill::agent::RecordsFirst(rig);
  }
  rig.Feed(triodrill::agent::ShutDown{});
  rig.Advance(std::chrono::minutes(1));
  triodrill::fuzz::Must(rig.node.effects.empty() && rig.node.records.empty(), "something is left after the end");
  triodrill::fuzz::Must(rig.core.AtRest(), "it does not come to rest");
  return 0;
}
