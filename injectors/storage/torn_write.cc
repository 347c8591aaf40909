#include "injectors/storage/torn_write.h"

#include "injectors/storage/swap_fault.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr SwapFault kTorn = {
    .kind = "storage.torn_write",
    .check = [](const v1::Parameters& with) -> Status {
      const double keep = with.storage_torn_write().keep();
      if (keep >= 0 && keep <= 0.999) return Ok();
      return absl::InvalidArgumentError("prepare storage.torn_write: keep is 0 to 0.999");
    },
    .directory = [](const v1::Parameters& with) -> std::string {
      const std::string& directory = with.storage_torn_write().directory();
      return directory.empty() ? "checkpoint" : directory;
    },
    .files = [](const v1::Parameters& with) -> std::string {
      const std::string& files = with.storage_torn_write().files();
      return files.empty() ? "step-*/shard-0.ckpt" : files;
    },
    .damage = [](const v1::Parameters& with) -> Damage {
      const v1::StorageTornWrite& torn = with.storage_torn_write();
      return {.position = torn.keep(), .kind = torn.zeros() ? DamageKind::kZeros : DamageKind::kCut};
    },
};

}  // namespace

std::unique_ptr<Injector> MakeStorageTornWrite() { return MakeSwap(kTorn); }
v1::Capability ProbeStorageTornWrite() { return ProbeSwap(kTorn.kind); }

}  // namespace triodrill
