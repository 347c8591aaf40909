#include "coordinator/gate/gate.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/gate/approvals.h"
#include "coordinator/plan/plan.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/units.h"

namespace triodrill::gate {
namespace {

// A clock that is known no better than this would make the figures worthless.
constexpr Nanos kWorstClock = std::chrono::milliseconds(20);

v1::Check Answer(const std::string& name, bool passed, const std::string& saw, const std::string& hint) {
  v1::Check check;
  check.set_name(name);
  check.set_passed(passed);
  check.set_saw(saw);
  if (!passed) check.set_hint(hint);
  return check;
}

v1::Check NotSeen(const std::string& name, const std::string& what) {
  return Answer(name, false, absl::StrCat("could not be seen: ", what), "a guard that cannot answer says no");
}

const v1::PlannedTrial* FindTrial(const v1::Plan& plan, int number) {
  for (const v1::PlannedTrial& trial : plan.trials()) {
    if (trial.number() == number) return &trial;
  }
  return nullptr;
}

v1::Check ShadowMark(const v1::Plan& plan) {
  return Answer("partition_is_shadow", plan.partition().spec().shadow(),
                absl::StrCat("shadow: ", plan.partition().spec().shadow() ? "true" : "false", " in partition '",
                             plan.partition().metadata().name(), "'"),
                "only a partition whose profile says `shadow: true` may be drilled");
}

v1::Check HoldsBounded(const v1::Plan& plan) {
  const Nanos limit = ToNanos(plan.partition().spec().limits().max_hold());
  for (const v1::PlannedTrial& trial : plan.trials()) {
    for (const v1::Shot& shot : trial.shots()) {
      const FaultRow* row = FindFaultRow(shot.kind());
      if (row == nullptr) return NotSeen("hold_is_bounded", absl::StrCat("unknown fault ", shot.kind()));
      if (!shot.has_hold()) {
        if (row->facts.reversal() == v1::NONE) continue;
        return Answer("hold_is_bounded", false, absl::StrCat("fault '", shot.fault_id(), "' has no hold"),
                      "give it one");
      }
      const Nanos held = shot.hold().has_for_() ? ToNanos(shot.hold().for_()) : ToNanos(shot.hold().max());
      if (held <= Nanos{0} || held > limit) {
        return Answer("hold_is_bounded", false,
                      absl::StrCat("fault '", shot.fault_id(), "' is held ", FormatDuration(held),
                                   ", the partition allows ", FormatDuration(limit)),
                      "shorten the hold, or raise limits.max_hold of the partition on purpose");
      }
    }
  }
  return Answer("hold_is_bounded", true, absl::StrCat("every hold ends within ", FormatDuration(limit)), "");
}

// Most nodes that one trial touches.
v1::Check DomainCap(const v1::Plan& plan) {
  const v1::PartitionSpec& partition = plan.partition().spec();
  size_t worst = 0;
  for (const v1::PlannedTrial& trial : plan.trials()) {
    std::set<std::string> nodes;
    int by_rank = 0;
    for (const v1::Shot& shot : trial.shots()) {
      if (shot.rank() >= 0) {
        ++by_rank;
      } else {
        nodes.insert(shot.node());
      }
    }
    worst = std::max(worst, nodes.size() + static_cast<size_t>(by_rank));
  }
  const size_t cap = static_cast<size_t>(std::max(1, partition.limits().max_faulted_nodes()));
  const size_t all = static_cast<size_t>(partition.nodes_size());
  const size_t alive = static_cast<size_t>(partition.limits().min_alive_nodes());
  const bool fits = worst <= cap && worst + alive <= all;
  return Answer("failure_domain_cap", fits,
                absl::StrCat("at most ", worst, " of ", all, " nodes under a fault; allowed ", cap, ", ", alive,
                             " must stay untouched"),
                "fewer targets, or other limits in the partition profile");
}

v1::Check Breadth(const v1::Plan& plan) {
  if (plan.trials_size() > 0) {
    return Answer("plan_has_trials", true, absl::StrCat(plan.trials_size(), " trials"), "");
  }
  return Answer("plan_has_trials", false, "no trials", "set trials.faulted or trials.sham");
}

class Checker {
 public:
  explicit Checker(const Situation& situation) : now_(situation), plan_(*situation.plan) {}

  Decision Run() {
    Decision decision;
    decision.checks = Gate::Beforehand(plan_);
    for (auto check :
         {TierApproved(plan_, now_.plan_digest, now_.approvals), Digest(), Exclusive(), NodePolicies(), Accepted(),
          FaultsPossible(), Targets(), NoOpenUndo(), ClocksKnown(), Watchers(), Baseline(), AtRest()}) {
      decision.checks.push_back(std::move(check));
    }
    return decision;
  }

 private:
  v1::Check Digest() const {
    if (!now_.digest_on_disk) return NotSeen("plan_is_the_one_written", "plan.json of the bundle");
    return Answer("plan_is_the_one_written", *now_.digest_on_disk == now_.plan_digest,
                  absl::StrCat("plan.json sha256 ", now_.digest_on_disk->substr(0, 16)),
                  "the plan changed: plan again");
  }

  v1::Check Exclusive() const {
    if (!now_.exclusive) return NotSeen("partition_is_ours", "the partition's lock");
    return Answer("partition_is_ours", *now_.exclusive, *now_.exclusive ? "lock held" : "lock lost",
                  "another run works on this partition; wait for it or abort it");
  }

  // Nodes whose agent must agree: all of the partition, so that an undo is possible wherever a fault could spread.
  v1::Check NodePolicies() const {
    std::vector<std::string> problems;
    for (const v1::Node& node : plan_.partition().spec().nodes()) {
      const auto sight = now_.nodes.find(node.name());
      if (sight == now_.nodes.end() || !sight->second.hello) {
        problems.push_back(absl::StrCat(node.name(), ": no agent attached"));
      } else if (!sight->second.hello->shadow()) {
        problems.push_back(absl::StrCat(node.name(), ": its own policy does not mark it shadow"));
      }
    }
    return Answer("node_policies_agree", problems.empty(),
                  problems.empty() ? absl::StrCat(plan_.partition().spec().nodes_size(), " nodes say shadow")
                                   : absl::StrJoin(problems, "; "),
                  "the node's policy file decides; it is not overruled from here");
  }

  v1::Check Accepted() const {
    std::map<std::string, std::optional<v1::Hello>> nodes;
    for (const auto& [name, sight] : now_.nodes) nodes[name] = sight.hello;
    return NodesAccept(plan_, *FindTrial(plan_, now_.trial), now_.plan_digest, now_.approvals, nodes);
  }

  v1::Check FaultsPossible() const {
    std::vector<std::string> problems;
    for (const v1::Shot& shot : FindTrial(plan_, now_.trial)->shots()) {
      for (const auto& [name, sight] : now_.nodes) {
        const bool here = shot.rank() >= 0 || shot.node() == name;
        if (!here || !sight.hello) continue;  // a missing agent is refused above
        const auto& allowed = sight.hello->policy_faults();
        if (std::find(allowed.begin(), allowed.end(), shot.kind()) == allowed.end()) {
          problems.push_back(absl::StrCat(name, ": its policy does not allow ", shot.kind()));
        }
        if (shot.has_hold() && ToNanos(shot.hold().has_for_() ? shot.hold().for_() : shot.hold().max()) >
                                   Nanos(sight.hello->max_hold_ns())) {
          problems.push_back(absl::StrCat(name, ": its policy holds no fault for longer than ",
                                          FormatDuration(Nanos(sight.hello->max_hold_ns()))));
        }
        for (const v1::Capability& capability : sight.hello->capabilities()) {
          if (capability.kind() == shot.kind() && !capability.possible()) {
            problems.push_back(absl::StrCat(name, ": ", capability.reason()));
          }
        }
      }
    }
    return Answer("faults_are_possible", problems.empty(),
                  problems.empty() ? "every node can and may do what is asked" : absl::StrJoin(problems, "; "),
                  "change the node's policy or the drill");
  }

  v1::Check Targets() const {
    if (!now_.targets) return NotSeen("targets_are_identities", "the nodes' inventories");
    const size_t wanted = static_cast<size_t>(FindTrial(plan_, now_.trial)->shots_size());
    std::vector<std::string> problems;
    for (const Resolved& target : *now_.targets) {
      if (!target.problem.empty()) {
        problems.push_back(absl::StrCat(target.shot, ": ", target.problem));
      } else if (target.identity.of_case() == v1::Identity::OF_NOT_SET || target.node.empty()) {
        problems.push_back(absl::StrCat(target.shot, ": no identity"));
      }
    }
    if (now_.targets->size() != wanted) {
      problems.push_back(absl::StrCat(now_.targets->size(), " targets for ", wanted, " shots"));
    }
    return Answer("targets_are_identities", problems.empty(),
                  problems.empty() ? absl::StrCat(wanted, " targets resolved") : absl::StrJoin(problems, "; "),
                  "is the job running where the drill expects it?");
  }

  v1::Check NoOpenUndo() const {
    std::vector<std::string> open;
    for (const v1::Node& node : plan_.partition().spec().nodes()) {
      const auto sight = now_.nodes.find(node.name());
      if (sight == now_.nodes.end() || !sight->second.open) {
        return NotSeen("no_open_undo", absl::StrCat("the undo journal of ", node.name()));
      }
      for (const v1::OpenFault& fault : *sight->second.open) {
        open.push_back(absl::StrCat(node.name(), ": ", fault.kind(), " on ", fault.resource()));
      }
    }
    return Answer("no_open_undo", open.empty(), open.empty() ? "every journal is empty" : absl::StrJoin(open, "; "),
                  "`triodrill recover` settles what is still owed");
  }

  v1::Check ClocksKnown() const {
    Nanos worst{0};
    for (const v1::Node& node : plan_.partition().spec().nodes()) {
      const auto sight = now_.nodes.find(node.name());
      if (sight == now_.nodes.end() || !sight->second.clock_uncertainty) {
        return NotSeen("clocks_are_known", absl::StrCat("the clock of ", node.name()));
      }
      worst = std::max(worst, *sight->second.clock_uncertainty);
    }
    return Answer(
        "clocks_are_known", worst <= kWorstClock,
        absl::StrCat("worst offset interval ", FormatDuration(std::chrono::ceil<std::chrono::microseconds>(worst))),
        absl::StrCat("it must be within ", FormatDuration(kWorstClock), "; is the machine overloaded?"));
  }

  v1::Check Watchers() const {
    if (!now_.watchers_healthy) return NotSeen("watchers_are_healthy", "the watchers");
    return Answer("watchers_are_healthy", *now_.watchers_healthy,
                  *now_.watchers_healthy ? "all sources are read" : "a source cannot be read", "see the run's log");
  }

  v1::Check Baseline() const {
    if (!now_.baseline_steady) return NotSeen("baseline_is_steady", "the job's progress");
    return Answer("baseline_is_steady", *now_.baseline_steady, *now_.baseline_steady ? "steady" : "not steady",
                  "does the job run?");
  }

  v1::Check AtRest() const {
    if (!now_.quiet) return NotSeen("detectors_are_at_rest", "the pipeline's reports");
    const Nanos wanted = ToNanos(plan_.pipeline().spec().at_rest().quiet());
    return Answer(
        "detectors_are_at_rest", *now_.quiet >= wanted,
        absl::StrCat("no report for ", FormatDuration(std::chrono::floor<std::chrono::milliseconds>(*now_.quiet)),
                     ", wanted ", FormatDuration(wanted)),
        "wait until the pipeline has settled");
  }

  const Situation& now_;
  const v1::Plan& plan_;
};

}  // namespace

std::vector<v1::Check> Gate::Beforehand(const v1::Plan& plan) {
  return {ShadowMark(plan), Breadth(plan), HoldsBounded(plan), DomainCap(plan)};
}

Decision Gate::Evaluate(const Situation& situation) {
  Decision decision;
  const v1::PlannedTrial* trial = situation.plan == nullptr ? nullptr : FindTrial(*situation.plan, situation.trial);
  if (trial == nullptr) {
    decision.checks.push_back(NotSeen("trial_is_planned", absl::StrCat("trial ", situation.trial)));
    return decision;
  }
  decision = Checker(situation).Run();
  for (const v1::Check& check : decision.checks) {
    if (!check.passed()) return decision;
  }
  std::vector<std::pair<Resolved, v1::Shot>> shots;
  for (const v1::Shot& shot : trial->shots()) {
    const std::string name = plan::ShotName(trial->number(), shot);
    const auto resolved = std::find_if(situation.targets->begin(), situation.targets->end(),
                                       [&](const Resolved& target) { return target.shot == name; });
    if (resolved == situation.targets->end()) {
      decision.checks.push_back(NotSeen("targets_are_identities", absl::StrCat("the target of ", name)));
      return decision;
    }
    shots.emplace_back(*resolved, shot);
  }
  decision.permit = Permit(trial->number(), situation.plan_digest, trial->sham(), shots);
  return decision;
}

}  // namespace triodrill::gate
