// What storage.flip, torn_write and stale_latest have in common: a copy takes the place of a file below the working
// directory of a process (see swap.h). If the process of the injector dies, the copy stays until the record is
// replayed, also after a reboot: files outlive it, so that an earlier boot is no reason to leave a record unreverted
// here.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "injectors/storage/swap.h"
#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// How one of them differs from the others.
struct SwapFault {
  std::string_view kind;
  bool writes_stand = false;  // what the job writes into the copy is its word, and stays
  Status (*check)(const v1::Parameters& with) = nullptr;
  std::string (*directory)(const v1::Parameters& with) = nullptr;
  std::string (*files)(const v1::Parameters& with) = nullptr;  // the one modified last when it is applied is meant
  Damage (*damage)(const v1::Parameters& with) = nullptr;
  // What only a look at the file that was chosen can tell; may be nullptr.
  Status (*complete)(const v1::Parameters& with, const FileBelow& file, Damage* damage) = nullptr;
};

// Refuses a directory that cannot be reached from here by the name that the kernel has for it.
std::unique_ptr<Injector> MakeSwap(const SwapFault& fault);

// Whether this kernel has openat2.
v1::Capability ProbeSwap(std::string_view kind);

}  // namespace triodrill
