// The page that libtriodrill_nccl.so, preloaded into a training process, shares with its node's agent. Made at the
// process's first NCCL call, so a page says that a call came through; the counters in it say whether they still do.
//
// One writer a part, as in triodrill/workload/page.h: the library writes everything but `armed` and the rules' `owner`
// and `order`, which are the agent's; it only ever clears bits of `armed`. The memory is an anonymous memfd named
// kPageName (tmpfs, sealed against any change of size), found through /proc/PID/fd; it ends with the process, and a
// child of a fork makes its own. An agent that dies leaves its rules armed at most until their deadline, which is
// checked in the call.
//
// Both sides copy before they check: the other may write at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "triodrill/corruption.h"

namespace triodrill::collective {

inline constexpr char kPageName[] = "triodrill-nccl";
// How the kernel spells it in /proc/PID/fd.
inline constexpr char kPageLink[] = "/memfd:triodrill-nccl (deleted)";
inline constexpr uint64_t kMagic = 0x3143'4e44'4f49'5254;  // "TRIODNC1"
inline constexpr uint32_t kLayout = 1;

inline constexpr uint32_t kMostRules = 8;
inline constexpr uint32_t kMostHits = 4096;
inline constexpr uint32_t kMostHitsOfACall = 1024;
inline constexpr uint64_t kMostStaleBytes = 1024 * 1024;

enum Operation : uint32_t {
  kAllReduce = 0,
  kReduceScatter = 1,
  kAllGather = 2,
  kBroadcast = 3,
  kReduce = 4,
  kSend = 5,
  kRecv = 6,
  kOperations = 7,
};

enum Action : uint32_t {
  kCorrupt = 1,  // the buffer that is sent (kBefore), or the one that was received (kAfter)
  kDelay = 2,    // the caller waits `hold_ns`
  kHang = 3,     // … until the rule is withdrawn, its deadline, or `hold_ns`
  kDesync = 4,   // the call is left out, and reported as a success: this rank is one collective ahead of its peers
};

enum Moment : uint32_t { kBefore = 1, kAfter = 2 };

// What the agent asks for. Plain values: written while the rule is not armed.
struct RuleOrder {
  // Which calls match.
  uint32_t operations;    // 1 << Operation
  uint32_t communicator;  // its number among those of this process, from 1, as they were made; 0 = any
  int32_t comm_ranks;     // how many ranks it has; 0 = any
  int32_t comm_rank;      // which of them this is; -1 = any
  int32_t peer;           // the root, or the other end of a send or receive; -1 = any
  uint32_t chance;        // of 2^32, that a burst begins at a call; 0 = it is sure
  uint64_t least_elements;
  uint64_t from_step;  // not before so many steps are done, as the workload tells libtriodrill
  // Which of those that match act, counted from 0 since the rule was armed.
  uint64_t first;
  uint64_t burst;  // so many in a row, 1 … 64
  uint64_t every;  // and again after so many; 0 = once
  // What they do.
  uint32_t action;
  uint32_t moment;
  int64_t hold_ns;
  int64_t deadline_boottime_ns;
  // Of kCorrupt. Type kNoType: whatever the call's is; a range is then given by its values.
  double low_value;
  double high_value;
  uint32_t stale;  // kReplace puts there what the block was at the first call that acted
  uint32_t reserved;
  corruption::Order corruption;
};
static_assert(std::is_trivially_copyable_v<RuleOrder>);

// Why a rule that should have acted did nothing.
enum Trouble : uint32_t {
  kNoTrouble = 0,
  kDeviceMemory = 1,  // the buffers are in a GPU's memory
  kCaptured = 2,      // the stream is being captured into a graph: it would act at every replay
  kDoesNotFit = 3,    // the elements' type has no such bit or change, or the call has no such buffer
  kNotDone = 4,       // the communicator did not say that the call was done, or it failed
  kNoMemory = 5,
};

struct Rule {
  // The agent's. 0 = free; else the token of the shot that holds it, claimed by compare-and-swap before `order` is
  // written and given back when nothing of the rule is left.
  std::atomic<uint64_t> owner;
  RuleOrder order;
  // The library's, cleared by the agent before it arms.
  std::atomic<uint64_t> matched;
  std::atomic<uint64_t> acted;
  std::atomic<uint64_t> changed;  // elements of other bits than before, all calls together
  std::atomic<uint32_t> trouble;
  std::atomic<uint32_t> expired;  // its deadline had passed when it matched, or passed while it held a call
  std::atomic<uint32_t> holding;  // calls that are being held now
  // The first act, valid once `acted` is not 0. CLOCK_MONOTONIC just before and just after; `done_ns` is 0 while it
  // lasts.
  std::atomic<int64_t> begun_ns;
  std::atomic<int64_t> done_ns;
  std::atomic<uint64_t> step;
  std::atomic<uint64_t> call;  // its number among those that matched
  std::atomic<uint64_t> index;
  std::atomic<uint64_t> before;
  std::atomic<uint64_t> after;
};

// One element that was changed. The first kMostHitsOfACall of a call are kept; Rule::changed counts all.
struct HitRecord {
  std::atomic<uint64_t> number;  // from 1; written last, 0 while the rest is being written
  uint64_t token;
  uint64_t call;   // among the calls that matched the rule, from 0: what the generator was asked with
  uint64_t index;  // in the buffer
  uint64_t before;
  uint64_t after;
  int64_t monotonic_ns;
  uint32_t type;  // corruption::Type
  uint32_t operation;
  uint32_t moment;
  int32_t comm_ranks;
  int32_t comm_rank;
  uint32_t communicator;
  uint64_t elements;  // of the buffer
};

// Where the buffers of this process's NCCL are.
enum MemoryKind : uint32_t { kMemoryUnknown = 0, kHostMemory = 1, kInDeviceMemory = 2 };

struct Page {
  // Written once, before the page can be found; magic last.
  std::atomic<uint64_t> magic;
  uint32_t layout;
  uint32_t bytes;  // sizeof(Page)
  int32_t pid;     // as its owner sees itself
  int32_t rank;    // of the environment; -1 = it says none
  std::atomic<uint32_t> memory;
  std::atomic<uint32_t> communicators;  // made so far

  // What is written where nobody drills: proof that calls come through. Threads may lose one another's counts.
  alignas(64) std::atomic<uint64_t> calls[kOperations];
  std::atomic<uint64_t> groups;  // outermost ones that ended

  // One bit a rule. Alone on its line: all that is read where nobody drills.
  alignas(64) std::atomic<uint32_t> armed;

  // Not 0 while the library acts on rules, holds a call included. Disarm, then wait for 0: after that the rule does
  // nothing any more.
  alignas(64) std::atomic<uint32_t> acting;
  std::atomic<uint64_t> hit_count;  // records ever written to `hits`: number N is at (N - 1) % kMostHits

  alignas(64) Rule rules[kMostRules];
  HitRecord hits[kMostHits];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free,
              "another process takes part: there is no lock to share");
static_assert(std::is_standard_layout_v<Page>);

}  // namespace triodrill::collective
