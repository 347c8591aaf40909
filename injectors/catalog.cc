#include "injectors/catalog.h"

#include <array>

#include "injectors/collective/fault.h"
#include "injectors/cpu/leak.h"
#include "injectors/cpu/stutter.h"
#include "injectors/cpu/throttle.h"
#include "injectors/environment/drift.h"
#include "injectors/gpu/burn.h"
#include "injectors/gpu/clock_lock.h"
#include "injectors/gpu/dcgm_field.h"
#include "injectors/gpu/hang.h"
#include "injectors/gpu/lost.h"
#include "injectors/gpu/power_cap.h"
#include "injectors/gpu/xid.h"
#include "injectors/link/blackhole.h"
#include "injectors/link/down.h"
#include "injectors/link/flap.h"
#include "injectors/link/netem.h"
#include "injectors/link/partition.h"
#include "injectors/link/rate.h"
#include "injectors/node/flapping.h"
#include "injectors/node/lost.h"
#include "injectors/process/crash_loop.h"
#include "injectors/process/exit_agent.h"
#include "injectors/process/kill.h"
#include "injectors/process/oom.h"
#include "injectors/process/pause.h"
#include "injectors/storage/flip.h"
#include "injectors/storage/overlay.h"
#include "injectors/storage/stale_latest.h"
#include "injectors/storage/torn_write.h"
#include "injectors/tensor/fault.h"

namespace triodrill {
namespace {

// The helpers of these are the programs beside this one.
std::unique_ptr<Injector> MakeStutterBesideUs() { return MakeCpuStutter(); }
std::unique_ptr<Injector> MakeDriftBesideUs() { return MakeEnvironmentDrift(); }
std::unique_ptr<Injector> MakeCrashLoopBesideUs() { return MakeProcessCrashLoop(); }
std::unique_ptr<Injector> MakeFlapBesideUs() { return MakeLinkFlap(); }

constexpr std::array kInjectors = {
    InjectorRow{"process.kill", &MakeProcessKill, &ProbeProcessKill},
    InjectorRow{"process.pause", &MakeProcessPause, &ProbeProcessPause},
    InjectorRow{"cpu.throttle", &MakeCpuThrottle, &ProbeCpuThrottle},
    InjectorRow{"cpu.stutter", &MakeStutterBesideUs, &ProbeCpuStutter},
    InjectorRow{"link.down", &MakeLinkDown, &ProbeLinkDown},
    InjectorRow{"process.crash_loop", &MakeCrashLoopBesideUs, &ProbeProcessCrashLoop},
    InjectorRow{"environment.drift", &MakeDriftBesideUs, &ProbeEnvironmentDrift},
    InjectorRow{"link.flap", &MakeFlapBesideUs, &ProbeLinkFlap},
    InjectorRow{"link.rate", &MakeLinkRate, &ProbeLinkRate},
    InjectorRow{"link.delay", &MakeLinkDelay, &ProbeLinkDelay},
    InjectorRow{"link.loss", &MakeLinkLoss, &ProbeLinkLoss},
    InjectorRow{"link.corrupt", &MakeLinkCorrupt, &ProbeLinkCorrupt},
    InjectorRow{"link.partition", &MakeLinkPartition, &ProbeLinkPartition},
    InjectorRow{"link.blackhole", &MakeLinkBlackhole, &ProbeLinkBlackhole},
    InjectorRow{"tensor.flip", &MakeTensorFlip, &ProbeTensorFlip},
    InjectorRow{"tensor.scale", &MakeTensorScale, &ProbeTensorScale},
    InjectorRow{"tensor.stuck_lane", &MakeTensorStuckLane, &ProbeTensorStuckLane},
    InjectorRow{"tensor.stale", &MakeTensorStale, &ProbeTensorStale},
    InjectorRow{"tensor.nan", &MakeTensorNan, &ProbeTensorNan},
    InjectorRow{"storage.flip", &MakeStorageFlip, &ProbeStorageFlip},
    InjectorRow{"gpu.clock_lock", &MakeGpuClockLock, &ProbeGpuClockLock},
    InjectorRow{"gpu.power_cap", &MakeGpuPowerCap, &ProbeGpuPowerCap},
    InjectorRow{"gpu.lost", &MakeGpuLost, &ProbeGpuLost},
    InjectorRow{"process.oom", &MakeProcessOom, &ProbeProcessOom},
    InjectorRow{"process.exit_agent", &MakeProcessExitAgent, &ProbeProcessExitAgent},
    InjectorRow{"storage.torn_write", &MakeStorageTornWrite, &ProbeStorageTornWrite},
    InjectorRow{"storage.stale_latest", &MakeStorageStaleLatest, &ProbeStorageStaleLatest},
    InjectorRow{"cpu.leak", [] { return MakeCpuLeak(); }, &ProbeCpuLeak},
    InjectorRow{"storage.full", [] { return MakeStorageFull(); }, &ProbeStorageFull},
    InjectorRow{"storage.slow", [] { return MakeStorageSlow(); }, &ProbeStorageSlow},
    InjectorRow{"collective.corrupt", &MakeCollectiveCorrupt, &ProbeCollectiveCorrupt},
    InjectorRow{"collective.delay", &MakeCollectiveDelay, &ProbeCollectiveDelay},
    InjectorRow{"collective.hang", &MakeCollectiveHang, &ProbeCollectiveHang},
    InjectorRow{"collective.desync", &MakeCollectiveDesync, &ProbeCollectiveDesync},
    InjectorRow{"gpu.burn", [] { return MakeGpuBurn(); }, &ProbeGpuBurn},
    InjectorRow{"gpu.hang", &MakeGpuHang, &ProbeGpuHang},
    InjectorRow{"gpu.dcgm_field", [] { return MakeGpuDcgmField(); }, &ProbeGpuDcgmField},
    InjectorRow{"gpu.xid", &MakeGpuXid, &ProbeGpuXid},
    InjectorRow{"node.lost", &MakeNodeLost, &ProbeNodeLost},
    InjectorRow{"node.flapping", [] { return MakeNodeFlapping(); }, &ProbeNodeFlapping},
};

constexpr bool KindsAreUnique() {
  for (size_t i = 0; i < kInjectors.size(); ++i) {
    for (size_t j = i + 1; j < kInjectors.size(); ++j) {
      if (kInjectors[i].kind == kInjectors[j].kind) return false;
    }
  }
  return true;
}
static_assert(KindsAreUnique());

}  // namespace

std::span<const InjectorRow> Catalog() { return kInjectors; }

const InjectorRow* FindInjector(std::string_view kind) {
  for (const InjectorRow& row : kInjectors) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

}  // namespace triodrill
