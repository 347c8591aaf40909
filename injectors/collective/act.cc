#include "injectors/collective/act.h"

#include <pthread.h>

#include "injectors/collective/capture.h"
#include "injectors/collective/clock.h"
#include "injectors/collective/communicators.h"
#include "injectors/collective/corrupt.h"
#include "injectors/collective/job_step.h"
#include "injectors/collective/when.h"

namespace triodrill::collective {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // one rule corrupts at a time

class Locked {
 public:
  Locked() { ::pthread_mutex_lock(&lock); }
  ~Locked() { ::pthread_mutex_unlock(&lock); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

// `acting` first, then `armed` again: whoever disarms and then sees 0 knows that the rule does nothing any more.
class Acting {
 public:
  explicit Acting(Page& page) : page_(page) { page_.acting.fetch_add(1, std::memory_order_seq_cst); }
  ~Acting() { page_.acting.fetch_sub(1, std::memory_order_seq_cst); }
  Acting(const Acting&) = delete;
  Acting& operator=(const Acting&) = delete;

  bool MayAct(uint32_t number, uint64_t token) const {
    return (page_.armed.load(std::memory_order_seq_cst) >> number & 1) != 0 &&
           page_.rules[number].owner.load(std::memory_order_acquire) == token;
  }
  void Disarm(uint32_t number) { page_.armed.fetch_and(~(1u << number), std::memory_order_seq_cst); }

 private:
  Page& page_;
};

bool CommMatches(const RuleOrder& order, const Call& call) {
  if (order.comm_ranks == 0 && order.comm_rank < 0 && order.communicator == 0) return true;
  const CommFacts facts = FactsOf(call.comm, call.real);
  return (order.comm_ranks == 0 || order.comm_ranks == facts.ranks) &&
         (order.comm_rank < 0 || order.comm_rank == facts.rank) &&
         (order.communicator == 0 || order.communicator == facts.number);
}

// The cheapest first: this is what an armed rule costs all the calls that are not meant.
bool Matches(const Rule& rule, const Call& call) {
  const RuleOrder& order = rule.order;
  if ((order.operations >> call.operation & 1) == 0 || call.count < order.least_elements) return false;
  if (order.peer >= 0 && order.peer != call.peer) return false;
  if (order.action == kCorrupt && order.corruption.type != corruption::kNoType &&
      order.corruption.type != nccl::TypeOf(call.type)) {
    return false;
  }
  if (!CommMatches(order, call)) return false;
  if (order.action == kCorrupt && BufferOf(call, order.moment).data == nullptr) return false;
  if (order.from_step == 0) return true;
  const Locked locked;
  return StepOfJob(rule.owner.load(std::memory_order_acquire)) >= order.from_step;
}

bool IsExpired(Acting& acting, Rule& rule, uint32_t number, const RuleOrder& order) {
  if (BoottimeNanos() < order.deadline_boottime_ns) return false;
  rule.expired.store(1, std::memory_order_relaxed);
  acting.Disarm(number);
  return true;
}

// One rule, in one call that it acts in.
class Doing {
 public:
  Doing(Page& page, Acting& acting, const Call& call, uint32_t number, uint64_t token, uint64_t matched)
      : page_(page), acting_(acting), call_(call), rule_(page.rules[number]), order_(rule_.order) {
    number_ = number;
    token_ = token;
    matched_ = matched;
  }

  // True if NCCL is to be left out.
  bool Run() {
    if (IsCaptured(call_.stream)) {
      Trouble(kCaptured);
    } else if (order_.action == kCorrupt) {
      const Locked locked;
      Corrupt({page_, rule_, order_, call_, number_, token_, matched_, StepOfJob(token_)});
    } else {
      BeginAct();
      if (order_.action == kDelay || order_.action == kHang) Hold();
      rule_.done_ns.store(MonotonicNanos(), std::memory_order_release);
    }
    if (IsOver(order_, matched_ + 1)) acting_.Disarm(number_);
    return order_.action == kDesync && rule_.trouble.load(std::memory_order_relaxed) == kNoTrouble;
  }

  void Trouble(uint32_t trouble) { rule_.trouble.store(trouble, std::memory_order_relaxed); }

 private:
  void BeginAct() {
    const Locked locked;
    if (rule_.acted.load(std::memory_order_relaxed) == 0) {
      rule_.step.store(StepOfJob(token_), std::memory_order_relaxed);
      rule_.call.store(matched_, std::memory_order_relaxed);
      rule_.begun_ns.store(MonotonicNanos(), std::memory_order_relaxed);
    }
    rule_.acted.fetch_add(1, std::memory_order_release);
  }

  void Hold() {
    rule_.holding.fetch_add(1, std::memory_order_relaxed);
    const int64_t begun = MonotonicNanos();
    while (acting_.MayAct(number_, token_) && !IsExpired(acting_, rule_, number_, order_)) {
      const int64_t left = begun + order_.hold_ns - MonotonicNanos();
      if (order_.hold_ns > 0 && left <= 0) break;
      PauseBriefly(order_.hold_ns > 0 ? left : INT64_MAX);
    }
    rule_.holding.fetch_sub(1, std::memory_order_relaxed);
  }

  Page& page_;
  Acting& acting_;
  const Call& call_;
  Rule& rule_;
  const RuleOrder order_;  // the agent may write it at any time: what is checked is this copy
  uint32_t number_ = 0;
  uint64_t token_ = 0;
  uint64_t matched_ = 0;
};

// Bounded by the rules: one that is withdrawn or expires is waited for no more.
bool IsDone(Page& page, Acting& acting, const Call& call, const Owed& owed) {
  nccl::Result state = StateOf(call.comm, call.real);
  while (state == nccl::kInProgress) {
    bool wanted = false;
    for (uint32_t i = 0; i < kMostRules; ++i) {
      if ((owed.rules >> i & 1) == 0 || !acting.MayAct(i, owed.token[i])) continue;
      wanted = wanted || !IsExpired(acting, page.rules[i], i, page.rules[i].order);
    }
    if (!wanted) return false;
    PauseBriefly(INT64_MAX);
    state = StateOf(call.comm, call.real);
  }
  return state == nccl::kSuccess;
}

}  // namespace

Owed ActBefore(Page& page, const Call& call) {
  Owed owed;
  for (uint32_t left = page.armed.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(left));
    if (i >= kMostRules || !Matches(page.rules[i], call)) continue;
    Acting acting(page);
    Rule& rule = page.rules[i];
    const uint64_t token = rule.owner.load(std::memory_order_acquire);
    if (token == 0 || !acting.MayAct(i, token)) continue;
    const uint64_t matched = rule.matched.fetch_add(1, std::memory_order_relaxed);
    const bool remembers = rule.order.action == kCorrupt && NeedsToRemember(rule.order, i, token);
    // Over or not, it stays armed: an earlier call may still wait for the end of its group.
    if (!remembers && !Acts(rule.order, matched)) continue;
    if (IsExpired(acting, rule, i, rule.order)) continue;
    if (rule.order.moment == kAfter && rule.order.action != kDesync) {
      owed.rules |= 1u << i;
      owed.number[i] = matched;
      owed.token[i] = token;
    } else {
      owed.leave_out = Doing(page, acting, call, i, token, matched).Run() || owed.leave_out;
    }
  }
  return owed;
}

void ActAfter(Page& page, const Call& call, const Owed& owed) {
  if (owed.rules == 0) return;
  Acting acting(page);
  const bool done = IsDone(page, acting, call, owed);
  for (uint32_t i = 0; i < kMostRules; ++i) {
    if ((owed.rules >> i & 1) == 0 || !acting.MayAct(i, owed.token[i])) continue;
    Doing doing(page, acting, call, i, owed.token[i], owed.number[i]);
    if (!done) {
      doing.Trouble(kNotDone);
    } else if (!IsExpired(acting, page.rules[i], i, page.rules[i].order)) {
      doing.Run();
    }
  }
}

}  // namespace triodrill::collective
