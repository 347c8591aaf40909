#include "injectors/catalog.h"

#include <array>

#include "injectors/cpu/stutter.h"
#include "injectors/cpu/throttle.h"
#include "injectors/link/down.h"
#include "injectors/process/kill.h"
#include "injectors/process/pause.h"

namespace triodrill {
namespace {

std::unique_ptr<Injector> MakeStutterBesideUs() { return MakeCpuStutter(); }

constexpr std::array kInjectors = {
    InjectorRow{"process.kill", &MakeProcessKill, &ProbeProcessKill},
    InjectorRow{"process.pause", &MakeProcessPause, &ProbeProcessPause},
    InjectorRow{"cpu.throttle", &MakeCpuThrottle, &ProbeCpuThrottle},
    InjectorRow{"cpu.stutter", &MakeStutterBesideUs, &ProbeCpuStutter},
    InjectorRow{"link.down", &MakeLinkDown, &ProbeLinkDown},
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
