// The line that NVIDIA's driver writes into the kernel log for an XID, in the form that the known readers take. Pure.
#pragma once

#include <string>
#include <string_view>

#include "injectors/gpu/nvml_abi.h"

namespace triodrill {

// "NVRM: Xid (PCI:0000:04:00): 79, pid=7, name=python, GPU has fallen off the bus.": no function after the device, and
// a comma after the number, without which some readers do not see it. `process` is cut to what cannot be mistaken for
// another field.
std::string XidLine(const nvml::PciInfo& where, int xid, int pid, std::string_view process);

}  // namespace triodrill
