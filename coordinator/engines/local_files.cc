#include "coordinator/engines/local_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "coordinator/engines/local_spec.h"
#include "coordinator/engines/state_dir.h"
#include "google/protobuf/util/json_util.h"
#include "triodrill/schema/json.h"
#include "triodrill/text.h"

namespace triodrill::engines {
namespace {

Status MakeDirectory(const std::string& directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus("make directory", directory);
  return Ok();
}

// Whole or not at all.
Status WritePrivateFile(const std::string& file, const std::string& text) {
  const std::string aside = file + ".new";
  const int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return ErrnoStatus("open", aside);
  const bool whole = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const Status failed = whole ? Ok() : ErrnoStatus("write", aside);
  close(fd);
  TRIODRILL_RETURN_IF_ERROR(failed);
  if (rename(aside.c_str(), file.c_str()) != 0) return ErrnoStatus("rename to", file);
  return Ok();
}

}  // namespace

std::optional<pid_t> SandboxHolder(const std::string& state_dir) {
  const int fd = open((state_dir + "/shadow.lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;  // there never was one
  const absl::Cleanup close_fd = [fd] { close(fd); };
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return std::nullopt;
  std::ifstream in(state_dir + "/shadow.pid");
  pid_t pid = 0;
  in >> pid;
  return in.fail() ? 0 : pid;
}

std::string SpecFile(const std::string& state_dir) { return state_dir + "/shadow.json"; }

Status WriteLocalFiles(const v1::ShadowSpec& spec, const std::string& state_dir) {
  std::error_code error;
  std::filesystem::remove_all(RunDir(state_dir), error);
  if (error) return absl::UnavailableError(Cat("empty the run directory ", RunDir(state_dir), ": ", error.message()));
  for (const std::string& directory : {RunDir(state_dir), RunDir(state_dir) + "/tmp", state_dir + "/nodes"}) {
    TRIODRILL_RETURN_IF_ERROR(MakeDirectory(directory));
  }
  v1::Partition partition;  // where none is told, nobody may approve anything
  if (!spec.partition().empty()) TRIODRILL_RETURN_IF_ERROR(FromJson(spec.partition(), partition));
  for (const v1::ShadowNode& node : spec.nodes()) {
    const std::string directory = NodeDir(state_dir, node.name());
    TRIODRILL_RETURN_IF_ERROR(MakeDirectory(directory));
    TRIODRILL_RETURN_IF_ERROR(
        WritePrivateFile(directory + "/policy.yaml", AgentPolicyYaml(node.name(), partition.spec())));
  }
  TRIODRILL_RETURN_IF_ERROR(WritePrivateFile(PartitionFile(state_dir), spec.partition() + "\n"));
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(spec, &text);
  if (!printed.ok())
    return absl::InternalError(Cat("write the shadow specification: ", std::string(printed.message())));
  return WritePrivateFile(SpecFile(state_dir), text + "\n");
}

}  // namespace triodrill::engines
