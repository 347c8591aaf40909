// What an operation on the directory meets: a bound on bytes, a delay, a pace. Allowance and Pace are pure; Gate is
// used by every thread of the server, counts, and shows the count as the process's name. A crash leaves nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "injectors/os/fd.h"
#include "injectors/storage/overlay_order.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill {

// How much may still be written. What is removed gives nothing back, as if others took it at once.
class Allowance {
 public:
  explicit Allowance(int64_t bytes) : left_(bytes) {}
  // As much of it as there is; with `whole` all or nothing.
  int64_t Take(int64_t bytes, bool whole);
  void GiveBack(int64_t bytes) { left_ += bytes; }
  int64_t left() const { return left_; }

 private:
  int64_t left_;
};

// When an operation that begins at `now` is through: not before its delay is over, and bytes only one after the other.
class Pace {
 public:
  Pace(Nanos delay, int64_t bytes_per_second) : delay_(delay), bytes_per_second_(bytes_per_second) {}
  // How long it is held.
  Nanos Hold(Nanos now, int64_t bytes);

 private:
  Nanos delay_;
  int64_t bytes_per_second_;
  Nanos free_at_{0};
};

class Gate {
 public:
  static Result<std::unique_ptr<Gate>> Make(const OverlayRules& rules);

  // How many of these bytes may be written; 0 with `refusal()`, unless none were asked for.
  size_t Admit(size_t bytes, bool whole);
  // What was admitted and came to nothing.
  void Unused(size_t bytes);
  int refusal() const { return refusal_; }
  // Bytes that may still be written, if that is bounded and shows as free space.
  bool Shows(int64_t* left);

  // Returns when the operation may go on.
  void Hold(size_t bytes);

  // From now on, and for those that are held now: all goes through. The name is kOverlayReleased.
  void Release();

 private:
  Gate(const OverlayRules& rules, UniqueFd released, UniqueFd name);
  void Count();
  void ShowName(std::string_view name);

  const OverlayRules rules_;
  const int refusal_;
  const UniqueFd released_;  // readable from Release on
  const UniqueFd name_;      // /proc/self/comm: the name is the whole process's, whichever thread counts
  std::mutex mutex_;
  bool open_ = false;
  Allowance allowance_;
  Pace pace_;
  int64_t count_ = 0;
};

}  // namespace triodrill
