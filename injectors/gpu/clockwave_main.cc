// triodrill-clockwave: lets the SM clock of one GPU fall and rise slowly until told to end, and resets it. One process.
#include <string>
#include <vector>

#include "injectors/gpu/nvml.h"
#include "injectors/gpu/sm_clock.h"
#include "injectors/gpu/wave_order.h"
#include "injectors/os/clock.h"
#include "injectors/process/helper_side.h"

namespace triodrill {
namespace {

constexpr Nanos kSlice = std::chrono::milliseconds(200);

// Whether the GPU is seen to obey a lock at `mhz`, which nothing else explains; bounded by half a slice.
bool Obeyed(const Nvml& nvml, const std::string& uuid, uint32_t mhz) {
  return LookUntil(kSlice / 2, [&] {
    const Result<Nvml::Clocks> clocks = nvml.ReadClocks(uuid);
    return clocks.ok() && clocks->now_mhz <= mhz && (clocks->reasons & ~kBenignReasons) == 0;
  });
}

Status Wave(const Nvml& nvml, const WaveOrder& order, const ReasonsToEnd& reasons) {
  ShowCount(kWaveCount, 0);
  const Nanos begun = SinceBoot();
  uint32_t locked = 0;
  int seen = 0;
  for (Nanos slice = begun; !reasons.Before(slice); slice += kSlice) {
    TRIODRILL_ASSIGN_OR_RETURN(const uint32_t mhz,
                               nvml.SupportedClock(order.uuid, ClockAt(order, SinceBoot() - begun)));
    if (mhz == locked) continue;
    TRIODRILL_RETURN_IF_ERROR(nvml.LockClocks(order.uuid, mhz));
    locked = mhz;
    if (mhz >= order.highest_mhz || !Obeyed(nvml, order.uuid, mhz)) continue;
    ShowCount(kWaveCount, ++seen);
    SayStarted();
  }
  return Ok();
}

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) { return SayFailed(kWaveProgram, status); };
  const Result<WaveOrder> order = ParseWaveArguments(arguments);
  if (!order.ok()) return failed(order.status());
  const Result<ReasonsToEnd> reasons = ReasonsToEnd::Watch(order->common);
  if (!reasons.ok()) return failed(reasons.status());
  const Result<std::unique_ptr<Nvml>> nvml = Nvml::Open(order->library);
  if (!nvml.ok()) return failed(nvml.status());
  if (reasons->Now()) return 0;
  const Status waved = Wave(**nvml, *order, *reasons);
  const Status reset = (*nvml)->ResetClocks(order->uuid);
  return waved.ok() && reset.ok() ? 0 : failed(waved.ok() ? reset : waved);
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
