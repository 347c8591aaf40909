#include "drills/shadow/gpu/cuda_work.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "drills/shadow/gpu/model.h"
#include "drills/shadow/gpu/page.h"
#include "drills/shadow/gpu/processes.h"
#include "triodrill/workload/clock.h"

namespace triodrill::shadow::gpu::cuda {
namespace {

constexpr int64_t kPieceNs = 200'000;

// Words that another thread, another process or what plays the GPU writes.
Word32 Read(const Word32* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void Write(Word32* word, Word32 value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
void Grow(Word64* word, Word64 by) { __atomic_fetch_add(word, by, __ATOMIC_RELAXED); }

// A GPU gives turns: of two that want it each has half.
bool IsShared(const Gpu& gpu) {
  for (const auto& word : gpu.processes) {
    const pid_t pid = LivingProcess(word.load());
    if (pid != 0 && pid != getpid()) return gpu.utilization.load() > 0;
  }
  return false;
}

}  // namespace

Kernel KernelNamed(const char* name) {
  if (std::strcmp(name, kernels::kBurnCompute) == 0 || std::strcmp(name, kernels::kBurnMemory) == 0) {
    return Kernel::kBurn;
  }
  return std::strcmp(name, kernels::kHang) == 0 ? Kernel::kHang : Kernel::kNone;
}

bool Stream::Begin(State* state, Gpu* gpu) {
  state_ = state;
  gpu_ = gpu;
  first_ = nullptr;
  open_ = 0;
  ended_ = false;
  pthread_mutex_init(&lock_, nullptr);
  pthread_cond_init(&changed_, nullptr);
  return pthread_create(&thread_, nullptr, &Stream::Main, this) == 0;
}

void Stream::End() {
  pthread_mutex_lock(&lock_);
  ended_ = true;
  pthread_cond_broadcast(&changed_);
  pthread_mutex_unlock(&lock_);
  pthread_join(thread_, nullptr);
  while (first_ != nullptr) {
    Work* const work = first_;
    first_ = work->next;
    std::free(work);
  }
  pthread_cond_destroy(&changed_);
  pthread_mutex_destroy(&lock_);
}

bool Stream::Add(const Work& work) {
  auto* const copy = static_cast<Work*>(std::malloc(sizeof(Work)));
  if (copy == nullptr) return false;
  *copy = work;
  copy->next = nullptr;
  pthread_mutex_lock(&lock_);
  Work** last = &first_;
  while (*last != nullptr) last = &(*last)->next;
  *last = copy;
  ++open_;
  pthread_cond_broadcast(&changed_);
  pthread_mutex_unlock(&lock_);
  return true;
}

bool Stream::Idle() {
  pthread_mutex_lock(&lock_);
  const bool idle = open_ == 0;
  pthread_mutex_unlock(&lock_);
  return idle;
}

void Stream::WaitUntilIdle() {
  pthread_mutex_lock(&lock_);
  while (open_ != 0) pthread_cond_wait(&changed_, &lock_);
  pthread_mutex_unlock(&lock_);
}

bool Stream::Ended() {
  pthread_mutex_lock(&lock_);
  const bool ended = ended_;
  pthread_mutex_unlock(&lock_);
  return ended || gpu_->lost.load() != 0;
}

void* Stream::Main(void* stream) {
  auto& self = *static_cast<Stream*>(stream);
  pthread_mutex_lock(&self.lock_);
  while (true) {
    while (self.first_ == nullptr && !self.ended_) pthread_cond_wait(&self.changed_, &self.lock_);
    if (self.ended_) break;
    Work* const work = self.first_;
    self.first_ = work->next;
    pthread_mutex_unlock(&self.lock_);
    self.Perform(*work);
    std::free(work);
    pthread_mutex_lock(&self.lock_);
    --self.open_;
    pthread_cond_broadcast(&self.changed_);
  }
  pthread_mutex_unlock(&self.lock_);
  return nullptr;
}

// May return early: whoever calls looks at the clock.
void Stream::Pass(int64_t nanos) { WaitForEvent(*state_, state_->events.load(), nanos); }

void Stream::Perform(const Work& work) {
  if (work.kernel == Kernel::kBurn) Burn(work);
  if (work.kernel == Kernel::kHang) Hang(work);
}

void Stream::Burn(const Work& work) {
  const int64_t begun = workload::MonotonicNanos();
  int64_t last = begun;
  Word64 busy = 0;
  Word64 rounds = 0;
  const Word64 blocks = std::min<Word64>(work.grid, kMultiprocessors);
  const Word64 takers = IsShared(*gpu_) ? 2 : 1;
  for (bool enough = false; !enough;) {
    const Word64 left = work.bounds.busy_ns - busy;
    Pass(std::min<int64_t>(kPieceNs, static_cast<int64_t>(left)));
    const int64_t now = workload::MonotonicNanos();
    const Word64 turn = static_cast<Word64>(now - last) / takers;
    last = now;
    const Word64 ran = std::min(turn, left);
    busy += ran;
    ++rounds;
    gpu_->taken_ns.fetch_add(ran * blocks / kMultiprocessors);
    enough = Read(work.stop) != 0 || busy >= work.bounds.busy_ns ||
             static_cast<Word64>(now - begun) >= work.bounds.life_ns ||
             (work.bounds.max_rounds != 0 && rounds >= work.bounds.max_rounds) || Ended();
  }
  for (Word64 i = 0; i < work.grid; ++i) {
    kernels::BurnBlock& block = work.blocks[i];
    Grow(&block.rounds, rounds);
    Grow(&block.busy_ns, busy);
    Write(&block.multiprocessor, static_cast<Word32>(i % kMultiprocessors));
    Write(&block.launches, Read(&block.launches) + 1);
  }
}

void Stream::Hang(const Work& work) {
  const int64_t begun = workload::MonotonicNanos();
  Write(work.state, kernels::kHangSpins);
  Word32 end = kernels::kHangReleased;
  while ((Read(work.armed) & work.bit) != 0 && !Ended()) {
    if (static_cast<Word64>(workload::MonotonicNanos() - begun) >= work.life_ns) {
      end = kernels::kHangLifeOver;
      break;
    }
    Pass(kPieceNs);
  }
  Write(work.state, end);
}

}  // namespace triodrill::shadow::gpu::cuda
