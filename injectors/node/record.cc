#include "injectors/node/record.h"

#include "injectors/journal/record.h"
#include "injectors/process/target.h"

namespace triodrill {

Result<v1::UndoRecord> NewNodeRecord(const v1::AimedFault& fault, const TakenLinks& links,
                                     const std::vector<ProcessHandle>& processes) {
  const uint64_t network = links[0].link().net_namespace_inode();
  TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, Cat("node/", network)));
  *record.mutable_node()->mutable_links() = links;
  for (const v1::TakenLink& one : links) record.add_further_resources(LinkResource(one.link()));
  for (const ProcessHandle& process : processes) {
    *record.mutable_node()->add_processes() = process.identity();
    record.add_further_resources(ProcessResource(process.identity(), "run-state"));
  }
  return record;
}

Result<int> CountLiving(const v1::UndoRecord& record) {
  int living = 0;
  for (const v1::ProcessIdentity& identity : record.node().processes()) {
    const Result<ProcessHandle> process = ProcessHandle::Open(identity);
    if (absl::IsNotFound(process.status())) continue;
    TRIODRILL_RETURN_IF_ERROR(process.status());
    if (!process->Ended()) ++living;
  }
  return living;
}

}  // namespace triodrill
