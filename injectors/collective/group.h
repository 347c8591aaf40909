// Groups of calls, a thread's own: within ncclGroupStart and ncclGroupEnd NCCL has taken a call and done nothing of it
// yet, so what is to be done after it waits for the end of the outermost group.
#pragma once

#include "injectors/collective/act.h"

namespace triodrill::collective {

void EnterGroup();
// At the outermost end does what is owed, if the group was taken; else drops it.
void LeaveGroup(Page& page, bool taken);

// False outside any group.
bool OweToGroup(const Call& call, const Owed& owed);

// Before the communicator is freed.
void ForgetInGroup(nccl::Comm comm);

}  // namespace triodrill::collective
