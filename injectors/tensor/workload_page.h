// The page of a training process that calls libtriodrill, seen from outside (triodrill/workload/page.h). Found through
// /proc/PID/fd, checked, mapped. Its owner may write anything into it at any time: everything is copied, then checked.
// One thread. A crash leaves at most a rule with its deadline and our token.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "injectors/process/process_identity.h"
#include "injectors/process/shared_page.h"
#include "triodrill/status.h"
#include "triodrill/workload/page.h"

namespace triodrill {

class WorkloadPage {
 public:
  // NotFound: the process has no page. It is checked that the process still lives after the page was opened, so the
  // page is its own.
  static Result<WorkloadPage> Open(const ProcessHandle& process);

  struct Tensor {
    std::string name;
    uint64_t elements = 0;
    uint32_t dtype = 0;
  };
  std::vector<Tensor> Tensors() const;
  std::vector<std::string> Phases() const;
  int FreeRules() const;

  // Claims a place, writes the rule and arms it. ResourceExhausted if all places are taken; if the token has one
  // already, it is written anew.
  Status Arm(uint64_t token, const workload::RuleOrder& order);

  // Disarms every rule of the token, waits (bounded) until none of it can be at work, and gives the places back.
  Status Withdraw(uint64_t token);

  struct RuleLook {
    bool held = false;   // a place has the token
    bool armed = false;  // … and its rule may act
    bool expired = false;
    uint32_t trouble = 0;
    uint64_t fired = 0;
    uint64_t changed = 0;
    uint32_t gpu_state = 0;  // of a hang: kernels::HangState
    uint32_t gpu_code = 0;   // of a hang that the driver refused
    uint64_t step = 0;       // these of the first change, or of the launch of a hang, if there was one
    uint64_t index = 0;
    uint64_t before = 0;
    uint64_t after = 0;
    int64_t begun_ns = 0;  // CLOCK_MONOTONIC
    int64_t done_ns = 0;
  };
  RuleLook Look(uint64_t token) const;

 private:
  // Whether the kernel of one of these rules is launched and has not ended.
  bool WaitsOnGpu(uint32_t rules) const;

  explicit WorkloadPage(SharedPage shared)
      : shared_(std::move(shared)), page_(static_cast<workload::Page*>(shared_.get())) {}

  SharedPage shared_;
  workload::Page* page_;
};

}  // namespace triodrill
