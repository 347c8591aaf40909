// What the faults on whole nodes have in common: their record, and a look at the processes in it. Used on the
// injector's thread; holds nothing.
#pragma once

#include <vector>

#include "injectors/link/taken_links.h"
#include "injectors/process/process_identity.h"
#include "triodrill/status.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

// With links and processes. Its resources are this node's network, each of the links and each process's run state.
Result<v1::UndoRecord> NewNodeRecord(const v1::AimedFault& fault, const TakenLinks& links,
                                     const std::vector<ProcessHandle>& processes);

// How many of the record's processes have not ended.
Result<int> CountLiving(const v1::UndoRecord& record);

}  // namespace triodrill
