// A whole file, or why not. A read can fail after the file was opened: a directory, a process that ends meanwhile, a
// disk that fails. The library's stream iterators throw then; this returns. Any thread.
#pragma once

#include <string>

#include "triodrill/status.h"

namespace triodrill::shadow {

Result<std::string> ReadWholeFile(const std::string& path);

}  // namespace triodrill::shadow
