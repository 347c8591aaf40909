#include "injectors/storage/flip.h"

#include "injectors/storage/swap_fault.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr SwapFault kFlip = {
    .kind = "storage.flip",
    .check = [](const v1::Parameters& with) -> Status {
      const v1::StorageFlip& flip = with.storage_flip();
      if (flip.position() >= 0 && flip.position() <= 1 && flip.bit() >= 0 && flip.bit() <= 7) return Ok();
      return absl::InvalidArgumentError("prepare storage.flip: position is 0 to 1, bit is 0 to 7");
    },
    .directory = [](const v1::Parameters& with) -> std::string {
      const std::string& directory = with.storage_flip().directory();
      return directory.empty() ? "checkpoint" : directory;
    },
    .files = [](const v1::Parameters& with) -> std::string {
      const std::string& files = with.storage_flip().files();
      return files.empty() ? "step-*/shard-0.ckpt" : files;
    },
    .damage = [](const v1::Parameters& with) -> Damage {
      const v1::StorageFlip& flip = with.storage_flip();
      return {.position = flip.position(), .bytes = flip.bytes(), .bit = flip.bit()};
    },
};

}  // namespace

std::unique_ptr<Injector> MakeStorageFlip() { return MakeSwap(kFlip); }
v1::Capability ProbeStorageFlip() { return ProbeSwap(kFlip.kind); }

}  // namespace triodrill
