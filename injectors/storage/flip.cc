#include "injectors/storage/flip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_format.h"
#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/target.h"
#include "injectors/storage/swap.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "storage.flip";

std::string DirectoryOf(const v1::StorageFlip& with) {
  return with.directory().empty() ? "checkpoint" : with.directory();
}
std::string FilesOf(const v1::StorageFlip& with) { return with.files().empty() ? "step-*/shard-0.ckpt" : with.files(); }

Damage DamageOf(const v1::StorageFlip& with) { return {with.position(), with.bytes(), with.bit()}; }

// In the name of a hidden file: the shot's, for people, and what makes it unique.
std::string TokenOf(const v1::AimedFault& fault, uint64_t inode) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : Cat(fault.run_id(), "/", fault.shot(), "/", inode)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return absl::StrFormat("%s-%016x", fault.shot(), hash);
}

struct Place {
  UniqueFd directory;
  uint64_t inode = 0;
  std::string path;
};

Result<Place> PlaceBelow(const ProcessHandle& process, const std::string& directory) {
  const std::string link = Cat("/proc/", process.identity().pid(), "/cwd");
  const UniqueFd base(::open(link.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base.valid()) return ErrnoStatus("open the working directory of the target:", link);
  if (process.Ended()) return absl::NotFoundError(Cat(Describe(process.identity()), " has ended"));
  Place place;
  TRIODRILL_ASSIGN_OR_RETURN(place.directory, OpenBelow(base.get(), directory));
  struct stat seen {};
  if (::fstat(place.directory.get(), &seen) != 0) return ErrnoStatus("look at", directory);
  place.inode = seen.st_ino;
  std::error_code error;
  place.path = std::filesystem::read_symlink(Cat("/proc/self/fd/", place.directory.get()), error).string();
  struct stat by_name {};
  // An undo has nothing but the name: it must lead there.
  if (error || ::stat(place.path.c_str(), &by_name) != 0 || by_name.st_ino != seen.st_ino ||
      by_name.st_dev != seen.st_dev) {
    return absl::FailedPreconditionError(Cat("prepare ", kKind, ": directory ", directory, " of the target is not ",
                                             place.path, " here; run the agent in the target's mount namespace"));
  }
  return place;
}

// nullopt with `why` if the directory of the record is not there any more, and with it what was in it.
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

class StorageFlip final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    const v1::StorageFlip& with = fault.with().storage_flip();
    if (!(with.position() >= 0 && with.position() <= 1) || with.bit() < 0 || with.bit() > 7) {
      return absl::InvalidArgumentError(Cat("prepare ", kKind, ": position is 0 to 1, bit is 0 to 7"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    TRIODRILL_ASSIGN_OR_RETURN(const Place place, PlaceBelow(process, DirectoryOf(with)));
    if (::faccessat(place.directory.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
      return ErrnoStatus(Cat("prepare ", kKind, ": write to"), place.path);
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, Cat("storage/", place.path)));
    v1::StoragePrior& prior = *record.mutable_storage();
    prior.set_directory(place.path);
    prior.set_inode(place.inode);
    prior.set_token(TokenOf(fault, place.inode));
    record.set_by_hand(Cat("find the files .triodrill-", prior.token(), ".kept.NAME below ", place.path,
                           "; each is the original of NAME beside it if its inode is not that of .triodrill-",
                           prior.token(), ".copy.NAME: rename it to NAME; then remove both hidden names"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    const v1::StorageFlip& with = record.fault().with().storage_flip();
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<UniqueFd> base, OpenRecorded(record.storage(), &why));
    if (!base.has_value()) return absl::NotFoundError(Cat("apply ", kKind, ": ", why));
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<FileBelow> file, FindNewest(base->get(), FilesOf(with)));
    if (!file.has_value()) {
      return absl::NotFoundError(
          Cat("apply ", kKind, ": no file below ", record.storage().directory(), " matches ", FilesOf(with)));
    }
    Step("storage: file found");
    return SwapIn(*file, record.storage().token(), DamageOf(with));
  }

  Status Revert(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<UniqueFd> base, OpenRecorded(record.storage(), &why));
    if (!base.has_value()) return Ok();
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<HiddenPair> pairs, FindHidden(base->get(), record.storage().token()));
    Status first;
    for (const HiddenPair& pair : pairs) {
      const Status back = PutBack(pair, record.storage().token());
      if (first.ok()) first = back;
    }
    return first;
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    const std::string& token = record.storage().token();
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<UniqueFd> base, OpenRecorded(record.storage(), &why));
    if (!base.has_value()) return Effect{Presence::kAbsent, why};
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<HiddenPair> pairs, FindHidden(base->get(), token));
    if (pairs.empty()) return Effect{Presence::kAbsent, Cat("nothing of it below ", record.storage().directory())};
    const HiddenPair& pair = pairs.front();
    if (!pair.copy.has_value()) {
      return Effect{Presence::kForeign, Cat("the damaged copy of ", pair.file.name, " is gone, its original is not")};
    }
    if (!pair.InPlace()) return Effect{Presence::kAbsent, Cat(pair.file.name, " is not the damaged copy")};
    TRIODRILL_ASSIGN_OR_RETURN(const bool differ, Differ(pair, token, DamageOf(record.fault().with().storage_flip())));
    const DamagedRange range = RangeOf(DamageOf(record.fault().with().storage_flip()), pair.now->st_size);
    return Effect{differ ? Presence::kPresent : Presence::kAbsent,
                  Cat(pair.file.name, " (inode ", pair.now->st_ino, ") ", differ ? "differs" : "does not differ",
                      " from its original (inode ", pair.kept->st_ino, ") at byte ", range.offset)};
  }
};

}  // namespace

std::unique_ptr<Injector> MakeStorageFlip() { return std::make_unique<StorageFlip>(); }

v1::Capability ProbeStorageFlip() {
  v1::Capability capability;
  capability.set_kind(kKind);
  const Result<UniqueFd> opened = OpenBelow(AT_FDCWD, ".");
  capability.set_possible(opened.ok());
  capability.set_reason(opened.ok() ? "a copy and an exchange of names"
                                    : Cat(opened.status().message(), "; Linux 5.6 or later is needed"));
  return capability;
}

}  // namespace triodrill
