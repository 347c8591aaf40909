// From the parameters of a fault of the family tensor to the rule that the workload's library will act by. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "triodrill/status.h"
#include "triodrill/v1/plan.pb.h"
#include "triodrill/workload/page.h"

namespace triodrill::tensor {

// What all of them have in common, as the drill gave it or as it is by default.
struct Aim {
  std::string tensor;
  std::string phase;
  uint64_t seed = 0;  // 0: the drill gives none
};
Aim AimOf(const v1::Parameters& with);

// The rule without its names and its deadline. InvalidArgument: the parameters are of another family.
Result<workload::RuleOrder> OrderFrom(const v1::Parameters& with, uint64_t seed);

// What is known of the tensors that a name stands for, taken together.
struct Registered {
  uint64_t elements = 0;
  uint32_t narrowest = 0;  // bits of the narrowest type among them
  bool scalable = false;   // every one of a type that the library multiplies: fp32, fp64, bf16
  bool floating = false;   // every one of a type that has a not-a-number
};
// Takes one tensor more into account.
void Add(uint32_t dtype, uint64_t elements, Registered& registered);

// Why the rule cannot act on them; empty if it can.
std::string WhyNot(const workload::RuleOrder& order, const Registered& registered);

// A stale block is one run: where it begins is drawn here, once its tensor's size is known.
uint64_t DrawnStart(uint64_t seed, uint64_t total, uint64_t elements);

}  // namespace triodrill::tensor
