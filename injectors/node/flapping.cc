#include "injectors/node/flapping.h"

#include <utility>
#include <vector>

#include "injectors/journal/record.h"
#include "injectors/link/flap.h"
#include "injectors/link/flap_order.h"
#include "injectors/link/taken_links.h"
#include "injectors/node/job.h"
#include "injectors/node/record.h"
#include "injectors/os/step.h"
#include "injectors/process/helper.h"
#include "injectors/process/run_state.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "node.flapping";

class NodeFlapping final : public Injector {
 public:
  explicit NodeFlapping(std::string program) : helper_(kFlapProgram, kFlapCount, std::move(program)) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_RETURN_IF_ERROR(FlapRhythm(fault).status());
    TRIODRILL_RETURN_IF_ERROR(helper_.Check(kKind));
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> processes, CheckJobProcesses(fault));
    for (const ProcessHandle& process : processes) TRIODRILL_RETURN_IF_ERROR(CheckRunsFreely(process).status());
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const TakenLinks links, ChooseLinksToTake(socket, kKind));
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewNodeRecord(fault, links, processes));
    v1::NodePrior& prior = *record.mutable_node();
    prior.set_token(HelperToken(fault, Cat("node/", links[0].link().net_namespace_inode())));
    std::string by_hand = Cat("end every ", kFlapProgram, " with ", TokenArgument(prior.token()),
                              " on its command line, then: ", LinksByHand(links));
    for (const ProcessHandle& process : processes) {
      Append(by_hand, "; kill -CONT ", process.identity().pid(), "  # only if field 22 of /proc/",
             process.identity().pid(), "/stat is ", process.identity().start_time_ticks());
    }
    record.set_by_hand(by_hand);
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(FlapOrder order, FlapRhythm(record.fault()));
    TRIODRILL_ASSIGN_OR_RETURN(order.common, helper_.OrderFor(record, record.node().token()));
    for (const v1::TakenLink& one : record.node().links()) order.links.push_back(one.link());
    order.processes = {record.node().processes().begin(), record.node().processes().end()};
    return helper_.Start(order.common, FlapArguments(order));
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    Status first = helper_.End(record.node().token());
    Step("flapping: program ended");
    for (const v1::ProcessIdentity& process : record.node().processes()) first.Update(LetRun(process));
    first.Update(BringLinksUp(record.node().links()));
    return first;
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: nothing of it survives a reboot"};
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const LinksSeen links, LookAtLinks(socket, record.node().links()));
    if (!links.another.empty()) return Effect{Presence::kForeign, links.another};
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> programs, helper_.Find(record.node().token()));
    if (!programs.empty()) {
      const int times = helper_.Count(programs);
      return Effect{times > 0 ? Presence::kPresent : Presence::kAbsent,
                    Cat("seen away ", times, times == 1 ? " time" : " times", ", all links down and ",
                        record.node().processes_size(), " processes stopped; now ", links.Text())};
    }
    return LookWithoutProgram(record, links);
  }

 private:
  // What it left is ours to take back.
  static Result<Effect> LookWithoutProgram(const v1::UndoRecord& record, const LinksSeen& links) {
    int stopped = 0;
    for (const v1::ProcessIdentity& identity : record.node().processes()) {
      const Result<ProcessHandle> process = ProcessHandle::Open(identity);
      if (absl::IsNotFound(process.status())) continue;
      TRIODRILL_RETURN_IF_ERROR(process.status());
      TRIODRILL_ASSIGN_OR_RETURN(const RunState state, LookAtRunState(*process));
      if (state.AnyStop()) ++stopped;
    }
    return Effect{links.down > 0 || stopped > 0 ? Presence::kPresent : Presence::kAbsent,
                  Cat("no ", kFlapProgram, " for it; ", links.Text(), "; ", stopped, " of ",
                      record.node().processes_size(), " processes stopped")};
  }

  const Helper helper_;
};

}  // namespace

std::unique_ptr<Injector> MakeNodeFlapping(std::string program) {
  return std::make_unique<NodeFlapping>(std::move(program));
}

v1::Capability ProbeNodeFlapping() {
  v1::Capability capability = ProbeLinkFlap();
  capability.set_kind(kKind);
  return capability;
}

}  // namespace triodrill
