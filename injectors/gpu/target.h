// What the faults on GPUs have in common: the GPU of the process that is aimed at, and the record's beginnings.
#pragma once

#include <string>
#include <string_view>

#include "injectors/gpu/nvml.h"
#include "injectors/journal/record.h"
#include "triodrill/text.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

struct GpuTarget {
  const Nvml* nvml;  // of the connection
  std::string uuid;
};

// Checks the process, connects anew, and finds the GPU on which it computes.
Result<GpuTarget> FindGpu(const v1::AimedFault& fault, NvmlConnection& connection);

// With library and UUID; the resource is "gpu/UUID/WHAT".
Result<v1::UndoRecord> NewGpuRecord(const v1::AimedFault& fault, const GpuTarget& target, std::string_view what);

}  // namespace triodrill
