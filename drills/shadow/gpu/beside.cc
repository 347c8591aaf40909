#include "drills/shadow/gpu/beside.h"

#include <dlfcn.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace triodrill::shadow::gpu {

const char* StatePath() {
  if (const char* const named = std::getenv(kStateVariable)) return named;
  static char path[PATH_MAX];
  static char file[PATH_MAX];
  Dl_info self{};
  if (dladdr(&path, &self) == 0 || self.dli_fname == nullptr) return nullptr;
  const char* const slash = std::strrchr(self.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - self.dli_fname) + 1;
  const int length = std::snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, kStateBeside);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof path) return nullptr;
  // It may be a link, where the file itself may not.
  return realpath(path, file);
}

}  // namespace triodrill::shadow::gpu
