#include "drills/shadow/trainer/checkpoint_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "drills/shadow/owned_fd.h"
#include "drills/shadow/whole_file.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

Status WriteAll(int fd, const std::string& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus("write", file);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return Ok();
}

Status SyncDirectoryOf(const std::string& file) {
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  const OwnedFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("open", directory);
  return fsync(fd.get()) == 0 ? Ok() : ErrnoStatus("fsync", directory);
}

Status MakeDirectory(const std::string& directory) {
  if (mkdir(directory.c_str(), 0755) != 0) return errno == EEXIST ? Ok() : ErrnoStatus("make directory", directory);
  // The step's directory must be on disk before `latest` speaks of it.
  return SyncDirectoryOf(directory);
}

}  // namespace

Status WriteDurably(const std::string& file, std::string_view bytes) {
  const std::string aside = file + ".new";
  absl::Cleanup remove = [&aside] { unlink(aside.c_str()); };
  {
    const OwnedFd fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd.valid()) return ErrnoStatus("open", aside);
    TRIODRILL_RETURN_IF_ERROR(WriteAll(fd.get(), aside, bytes));
    if (fsync(fd.get()) != 0) return ErrnoStatus("fsync", aside);
  }
  if (rename(aside.c_str(), file.c_str()) != 0) return ErrnoStatus("rename to", file);
  std::move(remove).Cancel();
  return SyncDirectoryOf(file);
}

Status WriteShard(const CheckpointIdentity& identity, const State& state) {
  TRIODRILL_RETURN_IF_ERROR(MakeDirectory(std::string(kCheckpointDir)));
  TRIODRILL_RETURN_IF_ERROR(MakeDirectory(StepDir(state.step)));
  return WriteDurably(ShardFile(state.step, identity.shard), EncodeCheckpoint(identity, state));
}

Result<State> ReadShard(const CheckpointIdentity& identity, int64_t step, size_t parameters, bool verify) {
  const std::string file = ShardFile(step, identity.shard);
  const Result<std::string> bytes = ReadWholeFile(file);
  if (!bytes.ok())
    return absl::Status(bytes.status().code(), Cat("checkpoint: ", std::string(bytes.status().message())));
  Result<State> state = DecodeCheckpoint(*bytes, identity, step, parameters, verify);
  if (state.ok()) return state;
  return absl::Status(state.status().code(), Cat("checkpoint ", file, " ", std::string(state.status().message())));
}

Status MoveLatest(int64_t step) { return WriteDurably(LatestFile(), LatestText(step)); }

void DropOldSteps(int64_t latest, int keep) {
  std::error_code ignored;
  std::vector<int64_t> on_disk;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(kCheckpointDir), ignored)) {
    if (const auto step = StepOfName(entry.path().filename().string())) on_disk.push_back(*step);
  }
  for (const int64_t step : StepsToDrop(std::move(on_disk), latest, keep)) {
    std::filesystem::remove_all(StepDir(step), ignored);
  }
}

}  // namespace triodrill::shadow::trainer
