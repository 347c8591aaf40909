// The Unix socket's place in the file system, before gRPC binds it: gRPC would remove whatever lies there.
#pragma once

#include <string>

#include "triodrill/status.h"

namespace triodrill::fleet {

// The path can be bound: absolute, short enough, in a directory that is ours alone. A socket file that nobody listens
// on is removed; one that somebody listens on, or anything that is not a socket, is an error.
Status ClearSocketPath(const std::string& path);

}  // namespace triodrill::fleet
