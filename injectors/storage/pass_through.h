// A file system (FUSE) that passes everything on to the directory below it, but for what the gate says. Names, modes,
// owners, times and inode numbers are those of the files below; nothing is cached, since others may work on them
// directly. Not passed on: locks, which hold among those who come through here, and sockets and pipes, which are
// others than those below.
#pragma once

#include <functional>

#include "injectors/os/fd.h"
#include "injectors/storage/gate.h"
#include "triodrill/status.h"

namespace triodrill {

// Serves a mount in several threads until the kernel has let go of it. `device` is what the mount was made with
// (/dev/fuse); it is closed at the end. `started` is called once, when the first request is about to be answered. The
// process must be root, with umask 0 and SECBIT_NO_SETUID_FIXUP, so that what is made belongs to who makes it.
Status ServePassThrough(UniqueFd below, int device, Gate& gate, std::function<void()> started);

}  // namespace triodrill
