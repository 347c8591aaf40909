// Ending a node's workload for certain, from the node's init. Reads the node's own /proc, signals through pidfds.
#pragma once

#include <sys/types.h>

#include <vector>

#include "drills/shadow/proc_tree.h"

namespace triodrill::shadow {

// All processes of the caller's pid namespace, as its /proc shows them.
std::vector<ProcEntry> ReadProcesses();

// SIGKILL to each process of the workload that is there now; how many there were. What is stopped dies as well.
int KillWorkload(pid_t agent);

}  // namespace triodrill::shadow
