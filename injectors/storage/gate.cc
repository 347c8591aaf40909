#include "injectors/storage/gate.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "injectors/os/clock.h"
#include "triodrill/text.h"

namespace triodrill {

int64_t Allowance::Take(int64_t bytes, bool whole) {
  const int64_t taken = std::min(bytes, std::max<int64_t>(left_, 0));
  if (whole && taken < bytes) return 0;
  left_ -= taken;
  return taken;
}

Nanos Pace::Hold(Nanos now, int64_t bytes) {
  Nanos end = now + delay_;
  if (bytes_per_second_ > 0) {
    const double nanos = std::ceil(1e9 * static_cast<double>(bytes) / static_cast<double>(bytes_per_second_));
    free_at_ = std::max(free_at_, now) + Nanos(static_cast<int64_t>(nanos));
    end = std::max(end, free_at_);
  }
  return end - now;
}

Result<std::unique_ptr<Gate>> Gate::Make(const OverlayRules& rules) {
  UniqueFd released(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!released.valid()) return ErrnoStatus("make", "an eventfd");
  UniqueFd name(::open("/proc/self/comm", O_WRONLY | O_CLOEXEC));
  if (!name.valid()) return ErrnoStatus("open", "/proc/self/comm");
  std::unique_ptr<Gate> gate(new Gate(rules, std::move(released), std::move(name)));
  gate->ShowName(Cat(kOverlayCount, 0));
  return gate;
}

Gate::Gate(const OverlayRules& rules, UniqueFd released, UniqueFd name)
    : rules_(rules),
      refusal_(rules.quota ? EDQUOT : ENOSPC),
      released_(std::move(released)),
      name_(std::move(name)),
      allowance_(rules.after_bytes),
      pace_(rules.delay, rules.bytes_per_second) {}

size_t Gate::Admit(size_t bytes, bool whole) {
  const std::lock_guard lock(mutex_);
  if (open_ || rules_.after_bytes < 0) return bytes;
  const auto taken = static_cast<size_t>(allowance_.Take(static_cast<int64_t>(bytes), whole));
  if (taken < bytes) Count();
  return taken;
}

void Gate::Unused(size_t bytes) {
  const std::lock_guard lock(mutex_);
  allowance_.GiveBack(static_cast<int64_t>(bytes));
}

bool Gate::Shows(int64_t* left) {
  const std::lock_guard lock(mutex_);
  *left = allowance_.left();
  return !open_ && rules_.after_bytes >= 0 && !rules_.quota;
}

void Gate::Hold(size_t bytes) {
  Nanos hold{0};
  {
    const std::lock_guard lock(mutex_);
    if (open_) return;
    hold = pace_.Hold(SinceBoot(), static_cast<int64_t>(bytes));
    if (hold <= Nanos(0)) return;
    Count();
  }
  WaitReadable(released_.get(), hold);
}

void Gate::Release() {
  const std::lock_guard lock(mutex_);
  if (open_) return;
  open_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t wrote = ::write(released_.get(), &one, sizeof(one));
  ShowName(std::string(kOverlayReleased));
}

void Gate::Count() { ShowName(Cat(kOverlayCount, ++count_)); }

void Gate::ShowName(std::string_view name) {
  [[maybe_unused]] const ssize_t wrote = ::write(name_.get(), name.data(), name.size());
}

}  // namespace triodrill
