#include "injectors/storage/damage.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr int64_t kPage = 4096;

Status WriteAt(int to, std::span<const char> bytes, int64_t at) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = ::pwrite(to, bytes.data() + done, bytes.size() - done, at + static_cast<int64_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return ErrnoStatus("write", "the damaged copy");
    done += static_cast<size_t>(wrote);
  }
  return Ok();
}

// Whether a byte changed.
bool Spoil(std::span<char> block, int64_t at, const DamagedRange& range, const Damage& damage) {
  bool changed = false;
  const int64_t end = std::min(at + static_cast<int64_t>(block.size()), range.offset + range.count);
  for (int64_t i = std::max(at, range.offset); i < end; ++i) {
    char& byte = block[static_cast<size_t>(i - at)];
    const char now = damage.kind == DamageKind::kZeros ? '\0' : static_cast<char>(byte ^ (1 << damage.bit));
    changed = changed || now != byte;
    byte = now;
  }
  return changed;
}

}  // namespace

DamagedRange RangeOf(const Damage& damage, int64_t size) {
  if (damage.kind == DamageKind::kText) return {0, size};
  const double share = std::clamp(damage.position, 0.0, 1.0);
  int64_t offset = std::min(static_cast<int64_t>(share * static_cast<double>(size)), size - 1);
  if (damage.kind == DamageKind::kFlip) return {offset, std::min(std::max<int64_t>(damage.bytes, 1), size - offset)};
  if (damage.kind == DamageKind::kZeros) offset -= offset % kPage;
  return {offset, size - offset};
}

Status CopyDamaged(int from, int to, int64_t size, const Damage& damage) {
  if (damage.kind == DamageKind::kText) return WriteAt(to, damage.text, 0);
  const DamagedRange range = RangeOf(damage, size);
  const int64_t end = damage.kind == DamageKind::kCut ? range.offset : size;
  bool changed = damage.kind == DamageKind::kCut;
  std::vector<char> buffer(1 << 20);
  for (int64_t at = 0; at < end;) {
    const auto want = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(buffer.size()), end - at));
    const ssize_t got = ::pread(from, buffer.data(), want, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("read", "the file to be damaged");
    if (got == 0) return absl::AbortedError("copy the file to be damaged: it became shorter meanwhile");
    const std::span<char> block(buffer.data(), static_cast<size_t>(got));
    if (damage.kind != DamageKind::kCut) changed = Spoil(block, at, range, damage) || changed;
    TRIODRILL_RETURN_IF_ERROR(WriteAt(to, block, at));
    at += got;
  }
  if (changed) return Ok();
  return absl::FailedPreconditionError(Cat("damage a file of ", size, " bytes: it reads as zeros there already"));
}

}  // namespace triodrill
