// A fault on a child of this test, which is fresh for each death; what of its state tells that it is as it was.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/crash/scene.h"
#include "tests/unit/injectors/child.h"

namespace triodrill::testing {

class ProcessScene : public Scene {
 public:
  explicit ProcessScene(std::string_view kind) : kind_(kind) {}
  Status Raise() override;
  v1::AimedFault Fault() const override { return fault_; }
  std::unique_ptr<Injector> Make() const override;
  std::string Damage() override;

 protected:
  const std::string kind_;
  std::optional<Child> child_;
  v1::AimedFault fault_;  // the same in every process that dies over it
};

// Whether a process runs with that on its command line: a helper, by whom it is aimed at or by its token.
bool HelperRuns(const std::string& aim);

// Of a fault on what a job does: its tensors, its collectives, its files. Null for another.
std::unique_ptr<Scene> MakeJobScene(std::string_view kind);

}  // namespace triodrill::testing
