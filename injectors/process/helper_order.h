// What every helper program is told: the part of its argument vector that they have in common. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

struct HelperOrder {
  std::string token;           // by which an undo finds the program: see TokenArgument
  v1::ProcessIdentity parent;  // who asked for it; the program ends with that process
  Nanos until{0};              // CLOCK_BOOTTIME
};

// Where a helper writes "S" once the effect is there, or "E" and a message.
inline constexpr int kHelperStatusFd = 3;

std::string TokenArgument(std::string_view token);
// "PID:START:NAMESPACE".
std::string IdentityText(const v1::ProcessIdentity& identity);

std::vector<std::string> HelperArguments(const std::string& program, const HelperOrder& order);

// Reads one option after the other; what is left over is for the program to know. False: not understood.
class HelperOptions {
 public:
  // "--name=value"; of several with one name the last counts, but for All.
  static Result<HelperOptions> Of(const std::vector<std::string>& arguments,
                                  const std::vector<std::string_view>& known);

  bool Take(std::string_view name, std::string* value) const;
  bool Take(std::string_view name, v1::ProcessIdentity* identity) const;
  bool Take(std::string_view name, Nanos* nanos, bool zero_allowed = false) const;
  bool Take(std::string_view name, int64_t* number) const;
  std::vector<std::string> All(std::string_view name) const;
  bool TakeAll(std::string_view name, std::vector<v1::ProcessIdentity>* identities) const;
  // The part in common, which must be whole.
  Status TakeOrder(HelperOrder* order) const;

 private:
  std::vector<std::pair<std::string, std::string>> options_;
};

}  // namespace triodrill
