// Two files that change places, and the names by which they are found again: a damaged copy and the original.
//   NAME                          what the job sees
//   .triodrill-TOKEN.copy.NAME    the damaged copy, whatever else it is called: it tells its inode
//   .triodrill-TOKEN.kept.NAME    before the exchange another name of the copy, after it the original
// Each step is one system call, so that a crash leaves one of these states, and PutBack knows what to do in each. Reads
// and writes only below the directory that it is given: no symbolic link is followed. One thread.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "injectors/os/fd.h"
#include "injectors/storage/damage.h"
#include "triodrill/status.h"

namespace triodrill {

// Files larger than this are refused: copying them would hold up everything else the node owes.
inline constexpr int64_t kLargestDamaged = int64_t{256} << 20;

// A directory below `base`; "" and "." are itself.
Result<UniqueFd> OpenBelow(int base, const std::string& path);

struct FileBelow {
  UniqueFd directory;
  std::string name;
};

// The regular file below `base` that matches `pattern` ("step-*/shard-0.ckpt") and was modified last; of several at one
// time the one whose path is last in order. nullopt: none matches. Hidden names never match a pattern's '*'.
Result<std::optional<FileBelow>> FindNewest(int base, const std::string& pattern);

// Makes the copy and exchanges. An error may leave hidden names: PutBack removes them.
Status SwapIn(const FileBelow& file, const std::string& token, const Damage& damage);

// The pairs of that token below `base`, at most four directories deep.
struct HiddenPair {
  FileBelow file;
  std::optional<struct stat> now;   // of NAME
  std::optional<struct stat> copy;  // of the hidden names
  std::optional<struct stat> kept;

  // The original is under the hidden name …
  bool Exchanged() const { return copy.has_value() && kept.has_value() && kept->st_ino != copy->st_ino; }
  // … and the copy under the real one.
  bool InPlace() const { return Exchanged() && now.has_value() && now->st_ino == copy->st_ino; }
  // The copy, which was given the original's times, was written since.
  bool WrittenSince() const {
    return InPlace() &&
           (copy->st_mtim.tv_sec != kept->st_mtim.tv_sec || copy->st_mtim.tv_nsec != kept->st_mtim.tv_nsec);
  }
};
Result<std::vector<HiddenPair>> FindHidden(int base, const std::string& token);

// Where the copy differs from the original, if it does: another size, or a byte within the damaged range.
struct Difference {
  bool any = false;
  std::string text;  // "at byte 500", "in its size: 250 bytes, not 500"
};
Result<Difference> Compare(const HiddenPair& pair, const std::string& token, const Damage& damage);

// The original gets its name back if the copy still has it, or if the job put the copy aside under another name;
// otherwise the job has replaced or removed the file since, and that stands. With `writes_stand` so does what it wrote
// into the copy. Then the hidden names are removed.
// FailedPrecondition if it cannot be told which of the two files is the original.
Status PutBack(const HiddenPair& pair, const std::string& token, bool writes_stand = false);

}  // namespace triodrill
