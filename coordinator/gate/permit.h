// The right to fire the shots of one trial. Only the safety gate can make one, it cannot be copied, and a shot can be
// sent to a node only in the form that a permit gives it: skipping the gate does not compile.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "triodrill/time.h"
#include "triodrill/v1/plan.pb.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill::gate {

// A shot with its target resolved to an identity on a node.
struct Resolved {
  std::string shot;  // its name
  std::string node;
  std::string slot;  // "" for a link: the whole node
  v1::Identity identity;
  std::string problem;  // not "": there is no such target now
};

class PermittedShot {
 public:
  const std::string& name() const { return resolved_.shot; }
  const std::string& node() const { return resolved_.node; }
  const std::string& slot() const { return resolved_.slot; }
  const v1::Identity& identity() const { return resolved_.identity; }
  const v1::Shot& planned() const { return planned_; }
  const std::string& plan_digest() const { return plan_digest_; }
  bool sham() const { return sham_; }

 private:
  friend class Permit;
  PermittedShot(Resolved resolved, v1::Shot planned, std::string plan_digest, bool sham)
      : resolved_(std::move(resolved)),
        planned_(std::move(planned)),
        plan_digest_(std::move(plan_digest)),
        sham_(sham) {}

  Resolved resolved_;
  v1::Shot planned_;
  std::string plan_digest_;
  bool sham_;
};

class Permit {
 public:
  Permit(Permit&&) = default;
  Permit& operator=(Permit&&) = default;
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;

  int trial() const { return trial_; }
  // Spends the permit: each shot can be taken once.
  std::vector<PermittedShot> Spend() && { return std::move(shots_); }

 private:
  friend class Gate;
  Permit(int trial, const std::string& plan_digest, bool sham, const std::vector<std::pair<Resolved, v1::Shot>>& shots)
      : trial_(trial) {
    for (const auto& [resolved, planned] : shots) {
      shots_.push_back(PermittedShot(resolved, planned, plan_digest, sham));
    }
  }

  int trial_;
  std::vector<PermittedShot> shots_;
};

}  // namespace triodrill::gate
