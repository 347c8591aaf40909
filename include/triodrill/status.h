// Result and Status: what every fallible function returns. A message names the operation, the object and the next step.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace triodrill {

using Status = absl::Status;
template <typename T>
using Result = absl::StatusOr<T>;

inline Status Ok() { return absl::OkStatus(); }

// The status of a failed system call: "open /x/y: No such file or directory". Keeps the error's class, so that a caller
// can tell "gone" from "forbidden". Reads errno; call it first.
// Plain std::string inside: the distribution's abseil has a string_view of its own, which takes no std::string_view.
inline Status ErrnoStatus(std::string_view operation, std::string_view object) {
  const int error = errno;
  return absl::ErrnoToStatus(error, std::string(operation) + " " + std::string(object));
}

}  // namespace triodrill

#define TRIODRILL_CONCAT_INNER(a, b) a##b
#define TRIODRILL_CONCAT(a, b) TRIODRILL_CONCAT_INNER(a, b)

// Returns the status of `expression` from the enclosing function unless it is ok.
#define TRIODRILL_RETURN_IF_ERROR(expression)                                 \
  do {                                                                        \
    if (::absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

// TRIODRILL_ASSIGN_OR_RETURN(auto value, Function());
#define TRIODRILL_ASSIGN_OR_RETURN(declaration, expression)                                           \
  auto TRIODRILL_CONCAT(result_, __LINE__) = (expression);                                            \
  if (!TRIODRILL_CONCAT(result_, __LINE__).ok()) return TRIODRILL_CONCAT(result_, __LINE__).status(); \
  declaration = *std::move(TRIODRILL_CONCAT(result_, __LINE__))
