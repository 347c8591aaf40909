#include "injectors/node/lost.h"

#include <signal.h>

#include <utility>
#include <vector>

#include "injectors/journal/record.h"
#include "injectors/link/down.h"
#include "injectors/link/taken_links.h"
#include "injectors/node/job.h"
#include "injectors/node/record.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "node.lost";

Status Kill(const ProcessHandle& process) {
  const Status killed = process.Signal(SIGKILL);
  Step("node: one process killed");
  return absl::IsNotFound(killed) ? Ok() : killed;
}

// What the job has started since the fault was prepared. Nothing is owed for what is dead, so no record names it; what
// starts from now on lives.
Status KillTheRest(const v1::AimedFault& fault) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> processes, FindJobProcesses(fault));
  Status first;
  for (const ProcessHandle& process : processes) first.Update(Kill(process));
  return first;
}

class NodeLost final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<ProcessHandle> processes, CheckJobProcesses(fault));
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const TakenLinks links, ChooseLinksToTake(socket, kKind));
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewNodeRecord(fault, links, processes));
    record.set_by_hand(Cat(LinksByHand(links), "; start the workload's processes anew if nothing else does"));
    return record;
  }

  // Links first: a process that ends while they are up tells its peers so, by the kernel's FIN.
  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    std::vector<ProcessHandle> processes;
    for (const v1::ProcessIdentity& identity : record.node().processes()) {
      Result<ProcessHandle> process = ProcessHandle::Open(identity);
      if (absl::IsNotFound(process.status())) continue;
      TRIODRILL_RETURN_IF_ERROR(process.status());
      processes.push_back(*std::move(process));
    }
    if (processes.empty()) return absl::NotFoundError("lose the node: all of the job's processes had ended before");
    Step("node: opened");
    TRIODRILL_RETURN_IF_ERROR(TakeLinksDown(socket, record.node().links()));
    Status first;
    for (const ProcessHandle& process : processes) first.Update(Kill(process));
    first.Update(KillTheRest(record.fault()));
    return first;
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    return earlier ? Ok() : BringLinksUp(record.node().links());
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: interfaces begin anew with each boot"};
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const LinksSeen links, LookAtLinks(socket, record.node().links()));
    TRIODRILL_ASSIGN_OR_RETURN(const int living, CountLiving(record));
    const int of = record.node().processes_size();
    const std::string text =
        Cat(links.Text(), "; ", of - living, " of ", of, of == 1 ? " process" : " processes", " ended");
    if (!links.another.empty()) return Effect{Presence::kForeign, text};
    if (links.down == 0) return Effect{Presence::kAbsent, text};
    if (links.AllDown() && living == 0) return Effect{Presence::kPresent, text};
    // Neither: it has not landed yet, or is not undone yet.
    return absl::UnavailableError(Cat("look at the node: it is lost by half: ", text));
  }
};

}  // namespace

std::unique_ptr<Injector> MakeNodeLost() { return std::make_unique<NodeLost>(); }

v1::Capability ProbeNodeLost() {
  v1::Capability capability = ProbeLinkDown();
  capability.set_kind(kKind);
  return capability;
}

}  // namespace triodrill
