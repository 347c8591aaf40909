#include "coordinator/watch/rotation.h"

namespace triodrill::watch {

Naming Look(std::span<const FileId> held, std::optional<FileId> named) {
  if (!named.has_value()) return Naming::kNobody;
  return !held.empty() && held.back() == *named ? Naming::kHeld : Naming::kOther;
}

size_t LetGo(std::span<const int64_t> sizes_behind) {
  for (size_t i = 0; i < sizes_behind.size(); ++i) {
    if (sizes_behind[i] > 0) return i + 1;
  }
  return 0;
}

bool Rewritten(std::string_view remembered, std::string_view read) { return !read.starts_with(remembered); }

}  // namespace triodrill::watch
