// triodrill-leak: takes memory, more and more, until told to end. One process: whatever way it ends, the kernel takes
// all of it back. The OOM killer is asked to take it before anything else.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "injectors/cpu/leak_order.h"
#include "injectors/os/clock.h"
#include "injectors/os/file.h"
#include "injectors/os/memory.h"
#include "injectors/process/helper_side.h"

namespace triodrill {
namespace {

constexpr Nanos kLookEvery = std::chrono::milliseconds(10);

class Leak {
 public:
  explicit Leak(const LeakOrder& order) : order_(order) {}

  // Ours to go first, and in the cgroup whose memory it is to be.
  Status Settle() {
    TRIODRILL_RETURN_IF_ERROR(WriteControlFileAt(AT_FDCWD, "/proc/self/oom_score_adj", "1000"));
    if (order_.cgroup.empty()) return Ok();
    return WriteControlFileAt(AT_FDCWD, Cat(order_.cgroup, "/cgroup.procs"), "0");
  }

  // At least one piece, or why not.
  Status Begin() {
    TRIODRILL_ASSIGN_OR_RETURN(const int64_t room, Room());
    if (room < kLeakPiece) {
      return absl::ResourceExhaustedError(
          Cat("take memory: of the node's or the cgroup's no more than the reserve is available (room ", room, " B)"));
    }
    TRIODRILL_RETURN_IF_ERROR(Take());
    begun_ = SinceBoot();
    ShowCount(kLeakPieces, 1);
    return Ok();
  }

  // False: how much there is cannot be known any more, so nothing more is taken and all is given back.
  bool Grow() {
    const Result<int64_t> room = Room();
    if (!room.ok()) return false;
    const auto held = static_cast<int64_t>(pieces_.size());
    const int64_t wanted = PiecesAt(order_, SinceBoot() - begun_, held, *room);
    while (static_cast<int64_t>(pieces_.size()) > wanted) GiveBack();
    while (static_cast<int64_t>(pieces_.size()) < wanted && Take().ok()) {
    }
    if (static_cast<int64_t>(pieces_.size()) != held) ShowCount(kLeakPieces, static_cast<int>(pieces_.size()));
    return true;
  }

 private:
  Result<int64_t> Room() const {
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<MemoryBound> bounds, ReadMemoryBounds(order_.cgroup));
    return RoomWithin(bounds, order_.reserve);
  }

  // Written, and with something else in each page, so that no page is shared or left out.
  Status Take() {
    void* const piece =
        ::mmap(nullptr, kLeakPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (piece == MAP_FAILED) return ErrnoStatus("map", Cat(kLeakPiece, " bytes"));
    const int64_t page = ::sysconf(_SC_PAGESIZE);
    for (int64_t at = 0; at < kLeakPiece; at += page) {
      const uint64_t mark = ++written_;
      std::memcpy(static_cast<char*>(piece) + at, &mark, sizeof(mark));
    }
    pieces_.push_back(piece);
    return Ok();
  }

  void GiveBack() {
    ::munmap(pieces_.back(), kLeakPiece);
    pieces_.pop_back();
  }

  const LeakOrder& order_;
  std::vector<void*> pieces_;
  uint64_t written_ = 0;
  Nanos begun_{0};
};

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) { return SayFailed(kLeakProgram, status); };
  const Result<LeakOrder> order = ParseLeakArguments(arguments);
  if (!order.ok()) return failed(order.status());
  const Result<ReasonsToEnd> reasons = ReasonsToEnd::Watch(order->common);
  if (!reasons.ok()) return failed(reasons.status());
  Leak leak(*order);
  if (const Status settled = leak.Settle(); !settled.ok()) return failed(settled);
  if (reasons->Now()) return 0;
  if (const Status begun = leak.Begin(); !begun.ok()) return failed(begun);
  SayStarted();
  CloseStatus();
  while (!reasons->Before(SinceBoot() + kLookEvery)) {
    if (!leak.Grow()) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
