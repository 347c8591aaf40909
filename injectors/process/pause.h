// process.pause: SIGSTOP to one process, SIGCONT at the end. Alive to the kernel, silent to its peers.
// If the process of the injector dies while the target is stopped, the target stays stopped until the record is
// replayed.
#pragma once

#include <memory>

#include "triodrill/injector.h"

namespace triodrill {

std::unique_ptr<Injector> MakeProcessPause();

}  // namespace triodrill
