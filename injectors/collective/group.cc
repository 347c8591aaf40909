#include "injectors/collective/group.h"

#include <cstdlib>

namespace triodrill::collective {
namespace {

struct Waiting {
  Call call;
  Owed owed;
};

// Plain, so that a thread's end needs nothing of ours; the memory is given back at the end of each group.
thread_local int depth = 0;
thread_local Waiting* waiting = nullptr;
thread_local size_t count = 0;
thread_local size_t room = 0;

void Clear() {
  std::free(waiting);
  waiting = nullptr;
  count = 0;
  room = 0;
}

}  // namespace

void EnterGroup() { ++depth; }

void LeaveGroup(Page& page, bool taken) {
  if (depth == 0 || --depth != 0) return;
  page.groups.store(page.groups.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (count == 0) return;
  for (size_t i = 0; i < count && taken; ++i) {
    if (waiting[i].call.comm != nullptr) ActAfter(page, waiting[i].call, waiting[i].owed);
  }
  Clear();
}

bool OweToGroup(const Call& call, const Owed& owed) {
  if (depth == 0) return false;
  if (count == room) {
    const size_t more = room == 0 ? 16 : room * 2;
    auto* const grown = static_cast<Waiting*>(std::realloc(waiting, more * sizeof(Waiting)));
    // Then the rule has matched and not acted, which is what its page says.
    if (grown == nullptr) return true;
    waiting = grown;
    room = more;
  }
  waiting[count++] = {call, owed};
  return true;
}

void ForgetInGroup(nccl::Comm comm) {
  for (size_t i = 0; i < count; ++i) {
    if (waiting[i].call.comm == comm) waiting[i].call.comm = nullptr;
  }
}

}  // namespace triodrill::collective
