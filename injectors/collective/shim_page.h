// The page of a training process that runs with libtriodrill_nccl.so, seen from outside (page.h). Found through
// /proc/PID/fd, checked, mapped. Its owner may write anything into it at any time: everything is copied, then checked.
// One thread. A crash leaves at most a rule with its deadline and our token.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "injectors/collective/page.h"
#include "injectors/process/process_identity.h"
#include "injectors/process/shared_page.h"
#include "triodrill/status.h"

namespace triodrill {

class ShimPage {
 public:
  // NotFound: no NCCL call of the process has come through the shim, and why that may be.
  static Result<ShimPage> Open(const ProcessHandle& process);

  // How often each operation was called so far.
  std::array<uint64_t, collective::kOperations> Calls() const;
  collective::MemoryKind Memory() const;
  uint32_t Communicators() const;
  int FreeRules() const;

  // Claims a place, writes the rule and arms it. ResourceExhausted if all places are taken; if the token has one
  // already, it is written anew.
  Status Arm(uint64_t token, const collective::RuleOrder& order);

  // Disarms every rule of the token, which lets go of a call that is held, waits (bounded) until none of it can be at
  // work, and gives the places back.
  Status Withdraw(uint64_t token);

  struct RuleLook {
    bool held = false;   // a place has the token
    bool armed = false;  // … and its rule may act
    bool expired = false;
    uint32_t trouble = 0;
    uint32_t holding = 0;  // calls that wait now
    uint64_t matched = 0;
    uint64_t acted = 0;
    uint64_t changed = 0;
    int64_t begun_ns = 0;  // CLOCK_MONOTONIC; these of the first act, if there was one
    int64_t done_ns = 0;
    uint64_t step = 0;
    uint64_t call = 0;
    uint64_t index = 0;
    uint64_t before = 0;
    uint64_t after = 0;
  };
  RuleLook Look(uint64_t token) const;

  // What of the token's changes the page still holds, oldest first.
  struct Change {
    uint64_t call = 0;
    uint64_t index = 0;
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t elements = 0;
    uint32_t type = 0;
    uint32_t operation = 0;
    uint32_t moment = 0;
    int32_t comm_ranks = 0;
    int32_t comm_rank = 0;
    uint32_t communicator = 0;
  };
  std::vector<Change> Changes(uint64_t token) const;

 private:
  explicit ShimPage(SharedPage shared)
      : shared_(std::move(shared)), page_(static_cast<collective::Page*>(shared_.get())) {}

  SharedPage shared_;
  collective::Page* page_;
};

}  // namespace triodrill
