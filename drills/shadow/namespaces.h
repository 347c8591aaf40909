// Processes in new namespaces, and what is set up from inside of them. Effects only; the caller is single-threaded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "triodrill/status.h"

namespace triodrill::shadow {

// fork(2) into new namespaces (CLONE_NEW*): 0 in the child, its pid in the caller. No intermediate process.
Result<pid_t> ForkInto(uint64_t flags);

// Maps the caller's user and group to root in the user namespace of `child` (made by ForkInto with CLONE_NEWUSER).
Status MapCallerToRoot(pid_t child);

// The kernel kills the calling process when its parent dies; `parent_pidfd` tells whether it was too late to ask.
Status DieWithParent(int parent_pidfd);

// In the child: mounts stay here, /proc shows this pid namespace, /etc/hosts is `hosts_file`.
Status SetUpMounts(const std::string& hosts_file);
Status SetHostName(const std::string& name);

int PidfdOpen(pid_t pid);                // -1 and errno
int PidfdSignal(int pidfd, int signal);  // -1 and errno
bool Ended(int pidfd);                   // the process of the pidfd is dead

}  // namespace triodrill::shadow
