// The page that a training process shares with its node's agent: what triodrill/workload.h promises, byte by byte.
//
// One writer a part. The library writes everything but `armed` and the rules' `owner` and `order`, which are the
// agent's; it only ever clears bits of `armed` (a rule that is used up or expired). The memory is an anonymous memfd
// named kPageName, sealed against any change of size, so that mapping it is safe for a process that does not trust its
// owner; nothing in it is an address. It ends with the process. An agent that dies leaves its rules armed at most until
// their deadline; whoever replays its journal finds them by `owner`.
//
// Both sides copy before they check: the other may write at any time. No dependency but the standard's atomics.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace triodrill::workload {

inline constexpr char kPageName[] = "triodrill-workload";
// How the kernel spells it in /proc/PID/fd.
inline constexpr char kPageLink[] = "/memfd:triodrill-workload (deleted)";
inline constexpr uint64_t kMagic = 0x3147'5044'4f49'5254;  // "TRIODPG1"
inline constexpr uint32_t kLayout = 2;

inline constexpr uint32_t kMostTensors = 256;
inline constexpr uint32_t kMostPhases = 64;
inline constexpr uint32_t kMostRules = 8;
inline constexpr uint32_t kMostFired = 256;
inline constexpr uint32_t kMostElements = 1024;           // that one rule picks
inline constexpr uint32_t kTensorName = 48;               // with the end
inline constexpr uint32_t kPhaseName = 32;                // with the end
inline constexpr uint64_t kMostStaleBytes = 1024 * 1024;  // that a stale rule keeps a copy of

// `sequence` is odd while the entry is being written: read it, copy, read it again.
struct TensorEntry {
  std::atomic<uint32_t> sequence;
  uint32_t dtype;  // TRIODRILL_FLOAT32, …; 0 = no tensor here
  uint64_t elements;
  char name[kTensorName];
};

enum RuleKind : uint32_t {
  kFlip = 1,   // bit `bit` of each element picked
  kStuck = 2,  // bit `bit` becomes `value` in each element whose number is `index` modulo `lanes`
  kScale = 3,  // each element picked times `factor`
  kNan = 4,    // each element picked becomes not a number
  kStale = 5,  // a block of `elements` from `index` on is what it was when the rule first matched
  kHang = 6,   // the process's work on its GPU waits for as long as the rule is armed; once, and no tensor is touched
};
enum RulePick : uint32_t {
  kByIndex = 1,  // `elements` of them, from `index` on
  kBySeed = 2,   // `elements` different ones, drawn from `seed`: the same ones each time
};

// What the agent asks for. Plain values: written while the rule is not armed.
struct RuleOrder {
  uint32_t kind;
  uint32_t pick;
  uint32_t bit;  // from the least significant one of the element
  uint32_t value;
  uint32_t elements;  // 1 … kMostElements; a stale block may be larger
  uint32_t lanes;
  uint64_t index;
  uint64_t seed;
  double factor;
  uint64_t times;      // in how many phases it acts; 0 = in each while it is armed
  uint64_t from_step;  // not before so many steps are done
  int64_t deadline_boottime_ns;
  char tensor[kTensorName];  // "gradients": the tensor of that name, or all whose names begin with "gradients/"
  char phase[kPhaseName];
};
static_assert(std::is_trivially_copyable_v<RuleOrder>);

// Why a rule that matched did nothing.
enum RuleTrouble : uint32_t {
  kNoTrouble = 0,
  kNoTensor = 1,    // no tensor of that name is registered
  kDoesNotFit = 2,  // the bit or the index is outside the elements, or the type has no such value
  kNoGpu = 3,       // no CUDA driver is loaded, or the thread that begins the phase has no context on a GPU
  kGpuRefused = 4,  // the driver refused; Rule::gpu_code is what it said
};

struct Rule {
  // The agent's. 0 = free; else the token of the shot that holds it, claimed by compare-and-swap before `order` is
  // written and given back when nothing of the rule is left.
  std::atomic<uint64_t> owner;
  RuleOrder order;
  // The library's, cleared by the agent before it arms.
  std::atomic<uint64_t> fired;    // phases in which it acted
  std::atomic<uint64_t> changed;  // elements of other bits than before, all phases together
  std::atomic<uint32_t> trouble;
  std::atomic<uint32_t> expired;    // its deadline had passed when it matched
  std::atomic<uint32_t> gpu_state;  // of a hang: kernels::HangState, from the launch on written by the GPU itself
  std::atomic<uint32_t> gpu_code;
  // The first change, valid once `changed` is not 0. CLOCK_MONOTONIC just before and just after it was made.
  int64_t begun_ns;
  int64_t done_ns;
  uint64_t step;
  uint64_t index;
  uint64_t before;
  uint64_t after;
};

// One element that was changed. At most 16 a rule and phase are kept; Rule::changed counts them all.
struct Fired {
  std::atomic<uint64_t> number;  // from 1; written last, 0 while the rest is being written
  uint64_t token;
  uint64_t step;
  int64_t monotonic_ns;
  uint64_t index;   // among the elements of `tensor`
  uint64_t before;  // raw bits
  uint64_t after;
  uint32_t dtype;
  uint32_t phase;
  char tensor[kTensorName];
};

struct Page {
  // Written once, before the page can be found; magic last.
  std::atomic<uint64_t> magic;
  uint32_t layout;
  uint32_t bytes;  // sizeof(Page)
  int32_t pid;     // as its owner sees itself
  uint32_t abi;
  std::atomic<uint64_t> rank;  // rank << 32 | world: they change together

  // What the job is doing.
  alignas(64) std::atomic<uint64_t> step;
  std::atomic<uint32_t> phase;   // a phase's number, 0 = none yet
  std::atomic<uint64_t> phases;  // how many have begun

  // One bit a rule. Alone on its line: this is all that is read where nobody drills.
  alignas(64) std::atomic<uint32_t> armed;

  // Not 0 while the library acts on rules. Disarm, then wait for 0: after that the rule does nothing any more.
  alignas(64) std::atomic<uint32_t> acting;
  std::atomic<uint64_t> fired_count;  // records ever written to `fired`: number N is at (N - 1) % kMostFired

  alignas(64) Rule rules[kMostRules];
  std::atomic<uint32_t> phase_count;
  char phase_names[kMostPhases + 1][kPhaseName];  // by a phase's number, from 1
  TensorEntry tensors[kMostTensors];
  Fired fired[kMostFired];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free,
              "another process takes part: there is no lock to share");
static_assert(std::is_standard_layout_v<Page>);
static_assert(sizeof(std::atomic<uint32_t>) == 4, "a GPU reads and writes some of them as plain words");

}  // namespace triodrill::workload
