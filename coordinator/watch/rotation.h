// What a follower does when the file under a path, or the bytes under its offset, are not those it knew. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace triodrill::watch {

struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

// A path was looked up; `held` are the files open for it, the one being read first.
enum class Naming {
  kNobody,  // there is no such file (any more): what is held is still read, its writer may not have let go
  kHeld,    // the last of `held`
  kOther,   // a file to open and hold behind the others (also one held before that came back)
};
Naming Look(std::span<const FileId> held, std::optional<FileId> named);

// Sizes of the files held behind the one that is read to its end. How many from the front to let go of: all before the
// first that has bytes, 0 if none has.
size_t LetGo(std::span<const int64_t> sizes_behind);

// A read that began at the bytes remembered from just before the offset brought `read`. Whether the file is no longer
// the one that was read so far: truncated, and perhaps grown past the offset again.
bool Rewritten(std::string_view remembered, std::string_view read);

}  // namespace triodrill::watch
