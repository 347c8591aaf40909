// One fault on one real target, and how to tell whether the target is as it was.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "triodrill/injector.h"
#include "triodrill/status.h"

namespace triodrill::testing {

class Scene {
 public:
  virtual ~Scene() = default;
  // A whole target; what was there before is cleared away. Unavailable if this machine cannot do it, with the reason.
  virtual Status Raise() = 0;
  virtual v1::AimedFault Fault() const = 0;
  virtual std::unique_ptr<Injector> Make() const = 0;
  // "" if the target is as it was and nothing of the drill is left; else what is not.
  virtual std::string Damage() = 0;
};

// environment.drift has two ways to work, and two undos.
inline constexpr std::string_view kDriftOfAGpu = "environment.drift of a GPU";

// Of a fault of the catalogue, or the one above.
std::unique_ptr<Scene> MakeScene(std::string_view kind);

}  // namespace triodrill::testing
