#include "injectors/collective/communicators.h"

#include <pthread.h>

#include <atomic>

#include "injectors/collective/attach.h"
#include "injectors/collective/real.h"

namespace triodrill::collective {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
uint32_t made = 0;

using AskInt = nccl::Result (*)(nccl::Comm, int*);

int Ask(const void* real, const char* name, nccl::Comm comm, int otherwise) {
  const auto ask = reinterpret_cast<AskInt>(FindBeside(real, name));
  int answer = otherwise;
  return ask != nullptr && ask(comm, &answer) == nccl::kSuccess ? answer : otherwise;
}

}  // namespace

KnownComm known_comms[kMostComms];
std::atomic<int> known_places{0};

void AddComm(nccl::Comm comm, int rank, int ranks) {
  if (comm == nullptr) return;
  ::pthread_mutex_lock(&lock);
  if (FindKnown(comm) == nullptr) {
    ++made;
    CurrentPage().communicators.store(made, std::memory_order_relaxed);
    int at = 0;
    while (at < kMostComms && known_comms[at].comm.load(std::memory_order_relaxed) != nullptr) ++at;
    if (at < kMostComms) {
      known_comms[at].rank.store(rank, std::memory_order_relaxed);
      known_comms[at].ranks.store(ranks, std::memory_order_relaxed);
      known_comms[at].number.store(made, std::memory_order_relaxed);
      known_comms[at].comm.store(comm, std::memory_order_release);
      if (at >= known_places.load(std::memory_order_relaxed)) known_places.store(at + 1, std::memory_order_release);
    }
  }
  ::pthread_mutex_unlock(&lock);
}

void DropComm(nccl::Comm comm) {
  ::pthread_mutex_lock(&lock);
  if (KnownComm* const entry = FindKnown(comm); comm != nullptr && entry != nullptr) {
    entry->comm.store(nullptr, std::memory_order_release);
  }
  ::pthread_mutex_unlock(&lock);
}

CommFacts FactsOf(nccl::Comm comm, const void* real) {
  if (comm == nullptr) return {-1, 0, 0};
  KnownComm* entry = FindKnown(comm);
  if (entry == nullptr) {
    AddComm(comm, -1, 0);
    entry = FindKnown(comm);
  }
  if (entry == nullptr) return {Ask(real, "pncclCommUserRank", comm, -1), Ask(real, "pncclCommCount", comm, 0), 0};
  if (entry->ranks.load(std::memory_order_relaxed) == 0) {
    entry->rank.store(Ask(real, "pncclCommUserRank", comm, -1), std::memory_order_relaxed);
    entry->ranks.store(Ask(real, "pncclCommCount", comm, 0), std::memory_order_relaxed);
  }
  return {entry->rank.load(std::memory_order_relaxed), entry->ranks.load(std::memory_order_relaxed),
          entry->number.load(std::memory_order_relaxed)};
}

nccl::Result StateOf(nccl::Comm comm, const void* real) {
  const auto ask = reinterpret_cast<AskInt>(FindBeside(real, "pncclCommGetAsyncError"));
  int state = nccl::kSystemError;
  if (ask == nullptr || ask(comm, &state) != nccl::kSuccess) return nccl::kSystemError;
  return state;
}

}  // namespace triodrill::collective
