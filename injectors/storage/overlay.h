// storage.full and storage.slow: a file system (FUSE) over a directory of the job, served by a program of its own
// (triodrill-overlay), because an injector holds no threads. What was open before is not touched by it. If the
// injector's process dies, the program takes the mount away by itself; so it does at SIGTERM and when its time is up.
// It is two processes that watch each other; if both are killed at once, the directory answers nothing until the replay
// unmounts it.
#pragma once

#include <memory>
#include <string>

#include "triodrill/injector.h"
#include "triodrill/v1/plan.pb.h"

namespace triodrill {

// Run `program`; the program's file beside this process's own if empty.
std::unique_ptr<Injector> MakeStorageFull(std::string program = "");
std::unique_ptr<Injector> MakeStorageSlow(std::string program = "");

v1::Capability ProbeStorageFull();
v1::Capability ProbeStorageSlow();

}  // namespace triodrill
