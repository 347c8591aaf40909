// NVML, loaded when a GPU fault wants it: a node without GPUs has no such library, and says so at plan time. GPUs are
// named by UUID in every call, never by an index that a reset may give to another. Used on one thread; what a crash
// leaves (a lock, a limit) is the driver's state, and stays until it is reset, the driver is unloaded or the node
// boots.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "injectors/gpu/nvml_abi.h"
#include "triodrill/status.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// The library that new faults use; what is recorded is undone with the library of its record. Set once, before any
// thread is there. A name without '/' is looked for as the dynamic linker does.
void SetNvmlLibrary(std::string library);
const std::string& NvmlLibrary();

class Nvml {
 public:
  struct Clocks {
    uint32_t now_mhz = 0;  // of the SMs
    uint32_t highest_mhz = 0;
    uint64_t reasons = 0;
  };
  struct Power {
    uint32_t limit_mw = 0;
    uint32_t default_mw = 0;
    uint32_t least_mw = 0;
    uint32_t most_mw = 0;
    uint32_t draw_mw = 0;
    uint64_t reasons = 0;
  };

  // Loads the library and connects to the driver. Unavailable says what is missing. The library stays loaded.
  static Result<std::unique_ptr<Nvml>> Open(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  const std::string& library() const { return library_; }

  // The one GPU on which the process holds a context. Refuses one that other processes compute on, too, or that is
  // divided (MIG): a fault would be theirs as well.
  Result<std::string> GpuOfProcess(pid_t pid) const;

  Result<Clocks> ReadClocks(const std::string& uuid) const;
  Result<Power> ReadPower(const std::string& uuid) const;
  // The highest clock of its table that is not above `mhz`; `mhz` where it tells of no table.
  Result<uint32_t> SupportedClock(const std::string& uuid, uint32_t mhz) const;
  // Where it is on the bus.
  Result<nvml::PciInfo> ReadPci(const std::string& uuid) const;
  Result<bool> Lost(const std::string& uuid) const;

  Status LockClocks(const std::string& uuid, uint32_t mhz) const;
  Status ResetClocks(const std::string& uuid) const;
  Status SetPowerLimit(const std::string& uuid, uint32_t mw) const;

  // Shadow GPUs only: no driver loses a GPU on request.
  bool CanLose() const { return calls_.triodrillShadowSetLost != nullptr; }
  Status SetLost(const std::string& uuid, bool lost) const;

 private:
  Nvml(std::string library, const nvml::Calls& calls) : library_(std::move(library)), calls_(calls) {}
  Result<nvml::Device> Find(const std::string& uuid) const;
  Result<uint64_t> ReadReasons(nvml::Device device, const std::string& uuid) const;
  Result<bool> Computes(nvml::Device device, pid_t pid, std::string* others) const;

  const std::string library_;
  const nvml::Calls calls_;
};

// A connection that an injector keeps from one look to the next: looks come each 50 us after a fire, and connecting to
// a driver takes long.
class NvmlConnection {
 public:
  Result<Nvml*> To(const std::string& library);
  // A new one: the driver may have been loaded since.
  Result<Nvml*> Anew(const std::string& library);

 private:
  std::unique_ptr<Nvml> open_;
};

// Possible where the library loads and its driver answers; the reason says which, or what is missing.
v1::Capability ProbeNvml(const std::string& kind);

}  // namespace triodrill
