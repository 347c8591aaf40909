#include "injectors/storage/swap_fault.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "injectors/journal/record.h"
#include "injectors/os/step.h"
#include "injectors/process/target.h"
#include "injectors/storage/place.h"

namespace triodrill {
namespace {

class Swap final : public Injector {
 public:
  explicit Swap(const SwapFault& how) : how_(how) {}

  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_RETURN_IF_ERROR(how_.check(fault.with()));
    TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, OpenTarget(fault));
    TRIODRILL_ASSIGN_OR_RETURN(const StoragePlace place, PlaceBelow(process, how_.directory(fault.with()), how_.kind));
    if (::faccessat(place.directory.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
      return ErrnoStatus(Cat("prepare ", how_.kind, ": write to"), place.path);
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, Cat("storage/", place.path)));
    v1::StoragePrior& prior = *record.mutable_storage();
    prior.set_directory(place.path);
    prior.set_inode(place.inode);
    prior.set_token(PlaceToken(fault, place.inode));
    record.set_by_hand(Cat("find the files .triodrill-", prior.token(), ".kept.NAME below ", place.path,
                           "; each is the original of NAME beside it if its inode is not that of .triodrill-",
                           prior.token(), ".copy.NAME: rename it to NAME; then remove both hidden names"));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    const v1::Parameters& with = record.fault().with();
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<UniqueFd> base, OpenRecorded(record.storage(), &why));
    if (!base.has_value()) return absl::NotFoundError(Cat("apply ", how_.kind, ": ", why));
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<FileBelow> file, FindNewest(base->get(), how_.files(with)));
    if (!file.has_value()) {
      return absl::NotFoundError(
          Cat("apply ", how_.kind, ": no file below ", record.storage().directory(), " matches ", how_.files(with)));
    }
    Step("storage: file found");
    Damage damage = how_.damage(with);
    if (how_.complete != nullptr) TRIODRILL_RETURN_IF_ERROR(how_.complete(with, *file, &damage));
    return SwapIn(*file, record.storage().token(), damage);
  }

  Status Revert(const v1::UndoRecord& record) override {
    std::string why;
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<UniqueFd> base, OpenRecorded(record.storage(), &why));
    if (!base.has_value()) return Ok();
    TRIODRILL_ASSIGN_OR_RETURN(const std::vector<HiddenPair> pairs, FindHidden(base->get(), record.storage().token()));
    Status first;
    for (const HiddenPair& pair : pairs) {
      const Status back = PutBack(pair, record.storage().token(), how_.writes_stand);
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
    if (how_.writes_stand && pair.WrittenSince()) {
      return Effect{Presence::kAbsent, Cat(pair.file.name, " was written since")};
    }
    TRIODRILL_ASSIGN_OR_RETURN(const Difference difference, Compare(pair, token, how_.damage(record.fault().with())));
    const std::string which = Cat(pair.file.name, " (inode ", pair.now->st_ino, ")");
    const std::string original = Cat("from its original (inode ", pair.kept->st_ino, ")");
    if (!difference.any) return Effect{Presence::kAbsent, Cat(which, " does not differ ", original)};
    return Effect{Presence::kPresent, Cat(which, " differs ", original, " ", difference.text)};
  }

 private:
  const SwapFault how_;
};

}  // namespace

std::unique_ptr<Injector> MakeSwap(const SwapFault& fault) { return std::make_unique<Swap>(fault); }

v1::Capability ProbeSwap(std::string_view kind) {
  v1::Capability capability;
  capability.set_kind(std::string(kind));
  const Result<UniqueFd> opened = OpenBelow(AT_FDCWD, ".");
  capability.set_possible(opened.ok());
  capability.set_reason(opened.ok() ? "a copy and an exchange of names"
                                    : Cat(opened.status().message(), "; Linux 5.6 or later is needed"));
  return capability;
}

}  // namespace triodrill
