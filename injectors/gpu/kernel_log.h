// A kernel log: the kernel's own (/dev/kmsg), or a file that stands for it, one line a message. Lines are added and
// looked for, and never taken away: neither can be. Used on one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace triodrill {

// The log that new faults use. Set once, before any thread is there.
void SetKernelLog(std::string path);
const std::string& KernelLog();

// NotFound, PermissionDenied or so if it is not there, or may not be read and written.
Status CheckKernelLog(const std::string& path);

// Where it ends now: the number of the next record in the device, the size of a file.
Result<uint64_t> EndOfKernelLog(const std::string& path);

// With the priority of an error, as the driver's.
Status WriteToKernelLog(const std::string& path, std::string_view line);

// Whether the line stands at `position` or behind it.
Result<bool> IsInKernelLog(const std::string& path, std::string_view line, uint64_t position);

// One record of the device, as it is read: "PRIORITY,NUMBER,TIME,FLAGS;TEXT\n" and more. Pure.
struct KernelRecord {
  uint64_t number = 0;
  std::string text;
};
Result<KernelRecord> ParseKernelRecord(std::string_view bytes);

}  // namespace triodrill
