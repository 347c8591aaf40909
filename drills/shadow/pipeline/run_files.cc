#include "drills/shadow/pipeline/run_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "drills/shadow/system_clock.h"
#include "drills/shadow/whole_file.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

using Json = nlohmann::json;

Result<OwnedFd> OpenToAppend(const char* file) {
  OwnedFd fd(open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus("open", file);
  return fd;
}

// A full disk must not end the pipeline: the line is lost, the repair is not.
void WriteLine(int fd, std::string line) {
  line += '\n';
  while (write(fd, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

Result<RunFiles> RunFiles::Open() {
  RunFiles files;
  TRIODRILL_ASSIGN_OR_RETURN(files.log_, OpenToAppend("pipeline.log"));
  TRIODRILL_ASSIGN_OR_RETURN(files.truth_, OpenToAppend("truth.jsonl"));
  TRIODRILL_ASSIGN_OR_RETURN(files.ledger_, OpenToAppend("sdc-ledger.jsonl"));
  return files;
}

void RunFiles::Write(const LogLine& line) { WriteLine(log_.get(), Cat(WallText(), " ", FormatLine(line))); }

void RunFiles::Write(const Truth& truth, TimePoint decided, TimePoint said) {
  WriteLine(truth_.get(), Dump({{"decided_ns", ToNanos(decided)},
                                {"said_ns", ToNanos(said)},
                                {"event", truth.event},
                                {"slot", truth.slot},
                                {"rank", truth.rank},
                                {"step", truth.step}}));
}

void RunFiles::Write(const LedgerEntry& entry) {
  WriteLine(ledger_.get(), Dump({{"time", WallText()},
                                 {"slot", entry.slot},
                                 {"rank", entry.rank},
                                 {"step", entry.step},
                                 {"epoch", entry.epoch},
                                 {"check", entry.check},
                                 {"detail", entry.detail},
                                 {"frequency", entry.frequency},
                                 {"disposition", entry.disposition},
                                 {"proposed_retests", entry.retests}}));
}

Checkpoints ListCheckpoints(int shards) {
  Checkpoints found;
  const Result<std::string> latest_text = ReadWholeFile("checkpoint/latest");
  int64_t latest = -1;
  if (!latest_text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*latest_text), &latest)) return found;
  std::error_code error;
  for (std::filesystem::directory_iterator at("checkpoint", error), end; !error && at != end; at.increment(error)) {
    constexpr std::string_view kPrefix = "step-";
    const std::string name = at->path().filename().string();
    int64_t step = -1;
    if (!name.starts_with(kPrefix) || !absl::SimpleAtoi(name.substr(kPrefix.size()), &step) || step > latest) continue;
    bool complete = true;
    for (int shard = 0; shard < shards; ++shard) {
      std::error_code missing;
      complete = complete && std::filesystem::exists(at->path() / Cat("shard-", shard, ".ckpt"), missing);
    }
    if (complete) found.steps.push_back(step);
  }
  std::sort(found.steps.rbegin(), found.steps.rend());
  return found;
}

void MakeStoreDirectory(const MakeStore& store) {
  const std::filesystem::path path(store.path);
  std::error_code ignored;  // a store that is not there shows as a join that fails
  std::filesystem::remove_all(store.alone ? path.parent_path() : path, ignored);
  std::filesystem::create_directories(path, ignored);
}

bool TakeConfirmation() { return unlink("confirm") == 0; }

}  // namespace triodrill::shadow::pipeline
