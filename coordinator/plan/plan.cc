#include "coordinator/plan/plan.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "coordinator/plan/dice.h"
#include "coordinator/plan/select.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/slot.h"
#include "triodrill/time.h"

namespace triodrill::plan {
namespace {

// How much longer than the coordinator means to hold a fault the node itself would: the node's maximum is a net, not
// the plan, and must not race the plan's own end.
constexpr Nanos kNodeGrace = std::chrono::seconds(10);

// What is fired for one fault of the drill: as wanted, or what stands in for it.
struct Choice {
  std::string kind;
  v1::Parameters with;
};

// Nodes that say they cannot do `kind`, each with its reason; empty if all can or none was asked.
std::vector<std::string> Unable(const std::string& kind, const std::set<std::string>& nodes,
                                const std::optional<Abilities>& abilities) {
  std::vector<std::string> unable;
  if (!abilities) return unable;
  for (const std::string& name : nodes) {
    const auto found = abilities->find(name);
    if (found == abilities->end()) {
      unable.push_back(absl::StrCat(name, ": no agent answers"));
      continue;
    }
    const v1::Capability* mine = nullptr;
    for (const v1::Capability& capability : found->second.capabilities()) {
      if (capability.kind() == kind) mine = &capability;
    }
    if (mine == nullptr) {
      unable.push_back(absl::StrCat(name, ": its agent does not know ", kind));
    } else if (!mine->possible()) {
      unable.push_back(absl::StrCat(name, ": ", mine->reason()));
    }
  }
  return unable;
}

class Maker {
 public:
  explicit Maker(const Request& request) : request_(request), spec_(request.drill.spec()) {}

  Outcome Make() {
    *plan_.mutable_drill() = request_.drill;
    *plan_.mutable_partition() = request_.partition;
    *plan_.mutable_pipeline() = request_.pipeline;
    plan_.set_tool_version(request_.tool_version);
    for (const v1::Fault& fault : spec_.faults()) ChooseKind(fault);
    if (refusals_.empty()) AddTrials();
    Remarks();
    if (!refusals_.empty()) return {std::nullopt, std::move(refusals_)};
    return {std::move(plan_), {}};
  }

 private:
  void Refuse(ExitCode code, std::string what, std::string hint) {
    refusals_.push_back({code, std::move(what), std::move(hint)});
  }

  // Settles candidates and kind of one fault, for every trial alike.
  void ChooseKind(const v1::Fault& fault) {
    Result<std::vector<Aim>> candidates = Candidates(fault.target(), request_.partition.spec());
    if (!candidates.ok()) {
      Refuse(ExitCode::kInvalidFile, absl::StrCat("fault '", fault.id(), "': ", candidates.status().message()),
             "compare the target with the partition's nodes");
      return;
    }
    const size_t hits =
        fault.target().pick() > 0 ? std::min<size_t>(candidates->size(), fault.target().pick()) : candidates->size();
    const size_t limit = static_cast<size_t>(std::max(1, fault.target().limit()));
    if (hits > limit) {
      Refuse(ExitCode::kRefused,
             absl::StrCat("fault '", fault.id(), "': the selector matches ", hits, ", its limit is ", limit),
             "narrow the selector, add `pick`, or raise `limit` on purpose");
      return;
    }
    candidates_[fault.id()] = *std::move(candidates);
    SettleKind(fault, NodesOf(candidates_[fault.id()]));
  }

  std::set<std::string> NodesOf(const std::vector<Aim>& aims) const {
    std::set<std::string> nodes;
    for (const Aim& aim : aims) {
      if (aim.rank < 0) {
        nodes.insert(aim.node);
      } else {  // a rank may come to live on any node
        for (const v1::Node& node : request_.partition.spec().nodes()) nodes.insert(node.name());
      }
    }
    return nodes;
  }

  void SettleKind(const v1::Fault& fault, const std::set<std::string>& nodes) {
    const std::vector<std::string> unable = Unable(fault.inject(), nodes, request_.abilities);
    if (unable.empty()) {
      choices_[fault.id()] = {fault.inject(), fault.with()};
      return;
    }
    const std::string reason = absl::StrJoin(unable, "; ");
    if (fault.has_otherwise() && Unable(fault.otherwise().inject(), nodes, request_.abilities).empty()) {
      choices_[fault.id()] = {fault.otherwise().inject(), fault.otherwise().with()};
      v1::Substitution* substitution = plan_.add_substitutions();
      substitution->set_fault_id(fault.id());
      substitution->set_wanted(fault.inject());
      substitution->set_used(fault.otherwise().inject());
      substitution->set_reason(reason);
      return;
    }
    Refuse(ExitCode::kRefused,
           absl::StrCat("fault '", fault.id(), "': ", fault.inject(), " cannot be done here: ", reason),
           "`triodrill faults` lists what each fault needs; give the fault an `otherwise`, or the agent the privilege");
  }

  void AddTrials() {
    Dice dice(spec_.trials().seed());
    std::vector<bool> sham(static_cast<size_t>(spec_.trials().faulted() + spec_.trials().sham()), false);
    std::fill(sham.begin() + spec_.trials().faulted(), sham.end(), true);
    dice.Shuffle(sham);
    for (size_t i = 0; i < sham.size(); ++i) {
      v1::PlannedTrial* trial = plan_.add_trials();
      trial->set_number(static_cast<int>(i) + 1);
      trial->set_sham(sham[i]);
      for (const v1::Fault& fault : spec_.faults()) AddShots(fault, dice, *trial);
    }
  }

  void AddShots(const v1::Fault& fault, Dice& dice, v1::PlannedTrial& trial) {
    const Choice& choice = choices_.at(fault.id());
    const Nanos jitter = dice.Wait(ToNanos(fault.start().jitter()));
    int index = 0;
    for (const Aim& aim : Choose(fault.target(), candidates_.at(fault.id()), dice)) {
      v1::Shot* shot = trial.add_shots();
      shot->set_fault_id(fault.id());
      shot->set_index(index++);
      shot->set_kind(choice.kind);
      *shot->mutable_with() = choice.with;
      FillFromProfile(*shot->mutable_with());
      shot->set_role(fault.target().role());
      shot->set_node(aim.node);
      shot->set_local_rank(aim.local_rank);
      shot->set_rank(aim.rank);
      shot->set_interface(aim.interface);
      *shot->mutable_start() = fault.start();
      *shot->mutable_jitter() = ToProto(jitter);
      Nanos held = ToNanos(request_.partition.spec().limits().max_hold());
      if (fault.has_hold()) {
        *shot->mutable_hold() = fault.hold();
        held = fault.hold().has_for_() ? ToNanos(fault.hold().for_()) : ToNanos(fault.hold().max());
        held += kNodeGrace;
      }
      *shot->mutable_max_hold() = ToProto(held);
    }
  }

  // What only the pipeline's profile knows: how a worker of this job is told from other processes.
  void FillFromProfile(v1::Parameters& with) const {
    const v1::Workload& workload = request_.pipeline.spec().workload();
    if (with.has_process_crash_loop() && with.process_crash_loop().match().empty()) {
      with.mutable_process_crash_loop()->set_match(workload.rank_process().command_line());
    }
    if (with.has_node_lost() && with.node_lost().match().empty()) {
      with.mutable_node_lost()->set_match(workload.rank_process().command_line());
    }
    if (with.has_node_flapping() && with.node_flapping().match().empty()) {
      with.mutable_node_flapping()->set_match(workload.rank_process().command_line());
    }
    if (with.has_process_exit_agent() && with.process_exit_agent().match().empty()) {
      with.mutable_process_exit_agent()->set_match(workload.launcher());
    }
  }

  // What the reader should know before anything runs.
  void Remarks() {
    std::set<v1::Meaning> meanings;
    for (const v1::Signal& signal : request_.pipeline.spec().signals()) meanings.insert(signal.means());
    const std::pair<v1::Meaning, const char*> steps[] = {{v1::DETECTED, "detect"},
                                                         {v1::SELF_CHECKED, "self_check"},
                                                         {v1::ISOLATED, "isolate"},
                                                         {v1::REPLACED, "replace"},
                                                         {v1::RESTORED, "recover"}};
    for (const auto& [meaning, name] : steps) {
      if (!meanings.contains(meaning)) {
        plan_.add_remarks(absl::StrCat("no signal of pipeline '", request_.pipeline.metadata().name(), "' says `", name,
                                       "`: only its outcome can show it"));
      }
    }
    RemarkOnCategory();
  }

  // A drill counts under the category that it declares; its reader should know if it breaks nothing of that kind.
  void RemarkOnCategory() {
    const v1::Category declared = request_.drill.metadata().category();
    std::set<std::string> broken;
    for (const auto& [id, choice] : choices_) {
      const FaultRow* const row = FindFaultRow(choice.kind);
      if (row == nullptr || row->facts.category() == declared) return;
      broken.insert(absl::StrCat(choice.kind, " is ", absl::AsciiStrToLower(v1::Category_Name(row->facts.category()))));
    }
    if (declared == v1::CATEGORY_UNSPECIFIED || broken.empty()) return;
    plan_.add_remarks(absl::StrCat("the drill declares the category ",
                                   absl::AsciiStrToLower(v1::Category_Name(declared)),
                                   ", and breaks nothing of it: ", absl::StrJoin(broken, ", ")));
  }

  const Request& request_;
  const v1::DrillSpec& spec_;
  v1::Plan plan_;
  std::vector<Refusal> refusals_;
  std::map<std::string, std::vector<Aim>> candidates_;  // by fault id
  std::map<std::string, Choice> choices_;               // by fault id
};

}  // namespace

Outcome MakePlan(const Request& request) { return Maker(request).Make(); }

std::string ShotName(int trial, const v1::Shot& shot) {
  return absl::StrCat(trial, ".", shot.fault_id(), ".", shot.index());
}

std::string TargetText(const v1::Shot& shot) {
  if (shot.rank() >= 0 && shot.role() == v1::LINK) {
    return absl::StrCat(shot.interface(), " of the node that rank ", shot.rank(), " is on");
  }
  if (shot.rank() >= 0) return absl::StrCat("rank ", shot.rank());
  return shot.role() == v1::LINK ? absl::StrCat(shot.node(), " ", shot.interface())
                                 : Slot{shot.node(), shot.local_rank()}.Name();
}

std::vector<std::string> ServingSlots(const v1::PartitionSpec& partition) {
  const std::set<std::string> spares(partition.spares().begin(), partition.spares().end());
  std::vector<std::string> slots;
  for (const v1::Node& node : partition.nodes()) {
    if (spares.contains(node.name())) continue;
    for (int i = 0; i < std::max(1, node.slots()); ++i) slots.push_back(absl::StrCat(node.name(), "/", i));
  }
  return slots;
}

}  // namespace triodrill::plan
