// Which injector performs which fault. The facts of a fault (level, reversal, proof, …) stand in the schema
// (include/triodrill/v1/faults.proto); here is only who does it. A test holds the two tables against each other.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

struct InjectorRow {
  std::string_view kind;
  std::unique_ptr<Injector> (*make)();
  // Whether this node can do it at all, with the reason or the means. Reads only.
  v1::Capability (*probe)();
};

std::span<const InjectorRow> Catalog();

// nullptr if there is no such kind.
const InjectorRow* FindInjector(std::string_view kind);

}  // namespace triodrill
