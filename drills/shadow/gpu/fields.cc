#include "drills/shadow/gpu/fields.h"

#include <charconv>
#include <limits>

#include "drills/shadow/gpu/nvml_abi.h"
#include "drills/shadow/gpu/page.h"
#include "triodrill/text.h"

namespace triodrill::shadow::gpu {
namespace {

constexpr uint64_t kAny32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kCounterMost = uint64_t{1} << 48;

struct Target {
  State& state;
  Gpu& gpu;
};

struct Field {
  std::string_view name;
  uint64_t most;
  std::string_view what;
  void (*set)(const Target&, uint64_t);
  void (*add)(const Target&, uint64_t) = nullptr;  // null: no counter
};

void SetEcc(const Target& at, uint32_t type, uint64_t value) {
  const uint64_t before = at.gpu.ecc[type][nvml::kVolatile].load();
  if (value > before) return AddEcc(at.state, at.gpu, type, value - before);
  at.gpu.ecc[type][nvml::kVolatile].store(value);
}

void SetReason(const Target& at, uint64_t bit, uint64_t on) {
  if (on != 0) {
    at.gpu.reasons.fetch_or(bit);
  } else {
    at.gpu.reasons.fetch_and(~bit);
  }
}

template <uint32_t type>
constexpr Field EccField(std::string_view name, std::string_view what) {
  return {name, kCounterMost, what, [](const Target& at, uint64_t value) { SetEcc(at, type, value); },
          [](const Target& at, uint64_t more) { AddEcc(at.state, at.gpu, type, more); }};
}

template <Row row>
constexpr Field RowCounter(std::string_view name, std::string_view what) {
  return {name, kAny32, what, [](const Target& at, uint64_t n) { at.gpu.rows[row].store(static_cast<uint32_t>(n)); },
          [](const Target& at, uint64_t more) { at.gpu.rows[row].fetch_add(static_cast<uint32_t>(more)); }};
}

template <Row row>
constexpr Field RowSwitch(std::string_view name, std::string_view what) {
  return {name, 1, what, [](const Target& at, uint64_t on) { at.gpu.rows[row].store(static_cast<uint32_t>(on)); }};
}

template <Link link>
constexpr Field LinkCounter(std::string_view name, std::string_view what) {
  return {name, kCounterMost, what, [](const Target& at, uint64_t value) { at.gpu.nvlink[link].store(value); },
          [](const Target& at, uint64_t more) { at.gpu.nvlink[link].fetch_add(more); }};
}

template <uint64_t bit>
constexpr Field ReasonField(std::string_view name, std::string_view what) {
  return {name, 1, what, [](const Target& at, uint64_t on) { SetReason(at, bit, on); }};
}

void SetLost(const Target& at, uint64_t lost) {
  at.gpu.lost.store(static_cast<uint32_t>(lost));
  if (lost != 0) PublishXid(at.state, at.gpu, kXidGpuLost);
}

constexpr Field kFields[] = {
    {"temperature", 150, "degrees Celsius; from 90 on the hardware slows down",
     [](const Target& at, uint64_t value) { at.gpu.temperature_c.store(static_cast<uint32_t>(value)); }},
    ReasonField<nvml::kHwSlowdown>("hw_slowdown", "1: the hardware slows down"),
    ReasonField<nvml::kHwThermalSlowdown>("hw_thermal", "1: the hardware slows down for heat"),
    ReasonField<nvml::kHwPowerBrake>("hw_power_brake", "1: the power supply brakes"),
    ReasonField<nvml::kSwThermalSlowdown>("sw_thermal", "1: the driver slows down for heat"),
    {"xid", 999, "an XID of this number happens",
     [](const Target& at, uint64_t code) { PublishXid(at.state, at.gpu, static_cast<uint32_t>(code)); }},
    EccField<nvml::kCorrected>("ecc_sbe", "single-bit ECC errors"),
    EccField<nvml::kUncorrected>("ecc_dbe", "double-bit ECC errors"),
    RowCounter<kRowsCorrectable>("rows_correctable", "rows remapped for correctable errors"),
    RowCounter<kRowsUncorrectable>("rows_uncorrectable", "rows remapped for uncorrectable errors"),
    RowSwitch<kRowsPending>("row_remap_pending", "1: rows wait for a reset to be remapped"),
    RowSwitch<kRowsFailure>("row_remap_failure", "1: a remapping has failed"),
    LinkCounter<kLinkCrcFlit>("nvlink_crc_flit", "NVLink flow-control CRC errors"),
    LinkCounter<kLinkCrcData>("nvlink_crc_data", "NVLink data CRC errors"),
    LinkCounter<kLinkReplay>("nvlink_replay", "NVLink retries"),
    LinkCounter<kLinkRecovery>("nvlink_recovery", "NVLink recoveries"),
    {"lost", 1, "1: it falls off the bus, with XID 79; 0: it is back", SetLost},
    {"driver.deny_set", 1, "1: NVML refuses every setter, on all GPUs",
     [](const Target& at, uint64_t on) { at.state.deny_set.store(static_cast<uint32_t>(on)); }},
    {"driver.old", 1, "1: NVML knows no \"event reasons\", as before CUDA 12.2",
     [](const Target& at, uint64_t on) { at.state.old_driver.store(static_cast<uint32_t>(on)); }},
};

const Field* FindField(std::string_view name) {
  for (const Field& field : kFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

}  // namespace

Status SetField(State& state, int gpu, std::string_view assignment) {
  if (gpu < 0 || gpu >= static_cast<int>(state.count)) {
    return absl::InvalidArgumentError(Cat("GPU ", gpu, ": there are ", state.count));
  }
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return absl::InvalidArgumentError(Cat(assignment, ": wants FIELD=VALUE or FIELD+=VALUE"));
  }
  const bool add = equals > 0 && assignment[equals - 1] == '+';
  const std::string_view name = assignment.substr(0, equals - (add ? 1 : 0));
  const std::string_view text = assignment.substr(equals + 1);
  const Field* const field = FindField(name);
  if (field == nullptr) return absl::InvalidArgumentError(Cat(name, ": no such field; there are\n", DescribeFields()));
  if (add && field->add == nullptr) return absl::InvalidArgumentError(Cat(name, ": no counter; takes \"=\" only"));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > field->most) {
    return absl::InvalidArgumentError(Cat(name, "=", text, ": not a whole number of 0~", field->most));
  }
  const Target at{state, state.gpus[gpu]};
  (add ? field->add : field->set)(at, value);
  return Ok();
}

std::string DescribeFields() {
  std::string text;
  for (const Field& field : kFields) Append(text, "  ", field.name, ": ", field.what, "\n");
  return text;
}

}  // namespace triodrill::shadow::gpu
