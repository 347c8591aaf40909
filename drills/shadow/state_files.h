// The files that a sandbox keeps in its state directory. Effects only.
#pragma once

#include <string>

#include "drills/shadow/node_channel.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::shadow {

// A private directory of ours: made with mode 0700 if it is missing, refused if others may enter it.
Status CheckStateDir(const std::string& state_dir);

// One sandbox on one state directory. The lock is held by the sandbox's inits as well, so that after the supervisor
// was killed it is free only when they are gone. FailedPrecondition names the supervisor that holds it.
Result<OwnedFd> TakeLock(const std::string& state_dir, Clock& clock);

// The hosts file and the pid file; replaces what an earlier sandbox left.
Status WriteStateFiles(const std::string& state_dir, const std::string& hosts);
// Socket and pid file.
void RemoveStateFiles(const std::string& state_dir);

}  // namespace triodrill::shadow
