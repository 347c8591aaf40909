// What dcgmi is asked, as argument vectors, and what it answers, read from its tables. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"

namespace triodrill::dcgm {

struct Field {
  std::string dcgmi;  // the program
  uint32_t gpu = 0;   // as DCGM counts
  int32_t id = 0;
  std::string value;  // as it goes on the command line
};

std::vector<std::string> ListArguments(const std::string& dcgmi);
// `ahead`: for so many seconds nothing that is sampled meanwhile is newer than the value.
std::vector<std::string> InjectArguments(const Field& field, int ahead_seconds);
std::vector<std::string> WatchArguments(const Field& field);

// "79", "0.25": no more digits than the number has.
std::string ValueText(double value);

// The number of the GPU in the list; NotFound if it has none of that UUID.
Result<uint32_t> GpuInList(std::string_view list, std::string_view uuid);

// Ok if it says that it took the value.
Status CheckInjected(int code, std::string_view answer);

// What the watch shows of the GPU; NotFound if it shows nothing.
Result<std::string> ShownValue(std::string_view watch, uint32_t gpu);

// Whether that is the value, as DCGM shows one: whole numbers without their fraction, others with three digits of it.
bool Shows(std::string_view shown, std::string_view value);

}  // namespace triodrill::dcgm
