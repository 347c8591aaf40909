#include "drills/shadow/gpu/metrics.h"

#include <string_view>

#include "absl/strings/str_format.h"
#include "drills/shadow/gpu/nvml_abi.h"
#include "triodrill/text.h"

namespace triodrill::shadow::gpu {
namespace {

struct Metric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  double (*value)(const Reading&);
  bool of_lost = false;
};

double Volatile(const Reading& reading, uint32_t type) {
  return static_cast<double>(reading.ecc[type][nvml::kVolatile]);
}
double Aggregate(const Reading& reading, uint32_t type) {
  return static_cast<double>(reading.ecc[type][nvml::kAggregate]);
}
double OfLink(const Reading& reading, Link link) { return static_cast<double>(reading.nvlink[link]); }

constexpr Metric kMetrics[] = {
    {"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).",
     [](const Reading& r) { return double(r.now.sm_mhz); }},
    {"DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).",
     [](const Reading& r) { return double(r.now.memory_mhz); }},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "gauge", "Why the clocks are not higher (bits).",
     [](const Reading& r) { return double(r.now.reasons); }},
    {"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).",
     [](const Reading& r) { return double(r.temperature_c); }},
    {"DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).",
     [](const Reading& r) { return r.now.power_mw / 1000.0; }},
    {"DCGM_FI_DEV_POWER_MGMT_LIMIT", "gauge", "Power limit in force (in W).",
     [](const Reading& r) { return r.limit_mw / 1000.0; }},
    {"DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).",
     [](const Reading& r) { return double(r.utilization); }},
    {"DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.",
     [](const Reading& r) { return double(r.xid); }, true},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "Single-bit volatile ECC errors.",
     [](const Reading& r) { return Volatile(r, nvml::kCorrected); }},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Double-bit volatile ECC errors.",
     [](const Reading& r) { return Volatile(r, nvml::kUncorrected); }},
    {"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", "counter", "Single-bit persistent ECC errors.",
     [](const Reading& r) { return Aggregate(r, nvml::kCorrected); }},
    {"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "counter", "Double-bit persistent ECC errors.",
     [](const Reading& r) { return Aggregate(r, nvml::kUncorrected); }},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped for correctable errors.",
     [](const Reading& r) { return double(r.rows[kRowsCorrectable]); }},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped for uncorrectable errors.",
     [](const Reading& r) { return double(r.rows[kRowsUncorrectable]); }},
    {"DCGM_FI_DEV_ROW_REMAP_PENDING", "gauge", "Whether rows wait for their remapping.",
     [](const Reading& r) { return double(r.rows[kRowsPending]); }},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed.",
     [](const Reading& r) { return double(r.rows[kRowsFailure]); }},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "counter", "NVLink flow-control CRC errors.",
     [](const Reading& r) { return OfLink(r, kLinkCrcFlit); }},
    {"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "counter", "NVLink data CRC errors.",
     [](const Reading& r) { return OfLink(r, kLinkCrcData); }},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "counter", "NVLink retries.",
     [](const Reading& r) { return OfLink(r, kLinkReplay); }},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "counter", "NVLink recovery errors.",
     [](const Reading& r) { return OfLink(r, kLinkRecovery); }},
};

std::string Escaped(std::string_view value) {
  std::string out;
  for (const char letter : value) {
    if (letter == '\n') {
      out += "\\n";
      continue;
    }
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out;
}

std::string Labels(const Reading& reading, const std::string& host) {
  return absl::StrFormat(
      "{gpu=\"%d\",UUID=\"%s\",pci_bus_id=\"%s\",device=\"nvidia%d\",modelName=\"%s\",Hostname=\"%s\",simulated="
      "\"true\"}",
      reading.index, Escaped(reading.uuid), Escaped(reading.bus_id), reading.index, Escaped(reading.name),
      Escaped(host));
}

}  // namespace

std::string MetricsText(const std::vector<Reading>& readings, const std::string& host) {
  std::vector<std::string> labels;
  for (const Reading& reading : readings) labels.push_back(Labels(reading, host));
  std::string text;
  for (const Metric& metric : kMetrics) {
    Append(text, "# HELP ", metric.name, " ", metric.help, "\n# TYPE ", metric.name, " ", metric.type, "\n");
    for (size_t i = 0; i < readings.size(); ++i) {
      if (readings[i].lost && !metric.of_lost) continue;
      absl::StrAppendFormat(&text, "%s%s %.17g\n", std::string(metric.name), labels[i], metric.value(readings[i]));
    }
  }
  return text;
}

}  // namespace triodrill::shadow::gpu
