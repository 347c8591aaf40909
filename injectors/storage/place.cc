#include "injectors/storage/place.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_format.h"
#include "injectors/os/stable_hash.h"
#include "injectors/storage/swap.h"
#include "triodrill/text.h"

namespace triodrill {

Result<StoragePlace> PlaceBelow(const ProcessHandle& process, const std::string& directory, std::string_view kind) {
  const std::string link = Cat("/proc/", process.identity().pid(), "/cwd");
  const UniqueFd base(::open(link.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base.valid()) return ErrnoStatus("open the working directory of the target:", link);
  if (process.Ended()) return absl::NotFoundError(Cat(Describe(process.identity()), " has ended"));
  StoragePlace place;
  TRIODRILL_ASSIGN_OR_RETURN(place.directory, OpenBelow(base.get(), directory));
  struct stat seen {};
  if (::fstat(place.directory.get(), &seen) != 0) return ErrnoStatus("look at", directory);
  place.inode = seen.st_ino;
  std::error_code error;
  place.path = std::filesystem::read_symlink(Cat("/proc/self/fd/", place.directory.get()), error).string();
  struct stat by_name {};
  if (error || ::stat(place.path.c_str(), &by_name) != 0 || by_name.st_ino != seen.st_ino ||
      by_name.st_dev != seen.st_dev) {
    return absl::FailedPreconditionError(Cat("prepare ", kind, ": directory ", directory, " of the target is not ",
                                             place.path, " here; run the agent in the target's mount namespace"));
  }
  return place;
}

Result<std::optional<UniqueFd>> OpenRecorded(const v1::StoragePrior& prior, std::string* why) {
  UniqueFd fd(::open(prior.directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) {
    *why = Cat(prior.directory(), " is gone");
    return std::optional<UniqueFd>();
  }
  if (!fd.valid()) return ErrnoStatus("open", prior.directory());
  struct stat seen {};
  if (::fstat(fd.get(), &seen) != 0) return ErrnoStatus("look at", prior.directory());
  if (seen.st_ino == prior.inode()) return std::optional<UniqueFd>(std::move(fd));
  *why = Cat(prior.directory(), " is another directory now");
  return std::optional<UniqueFd>();
}

std::string PlaceToken(const v1::AimedFault& fault, uint64_t inode) {
  const uint64_t hash = StableHash(Cat(fault.run_id(), "/", fault.shot(), "/", inode));
  return absl::StrFormat("%s-%016x", fault.shot(), hash);
}

}  // namespace triodrill
