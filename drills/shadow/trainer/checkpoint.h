// A checkpoint of one shard as bytes, and how the files are named. Pure.
//
// RUN_DIR/checkpoint/step-00000020/shard-0.ckpt: a fixed head, parameters, optimizer state, and the SHA-256 of all
// that. A file is made aside and renamed, so a file that is cut was cut by something else and is refused like a wrong
// one. RUN_DIR/checkpoint/latest: the newest step of which every shard is on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drills/shadow/trainer/model.h"
#include "triodrill/status.h"

namespace triodrill::shadow::trainer {

struct CheckpointIdentity {
  uint64_t seed = 0;
  int shard = 0;
  int shards = 1;
};

std::string EncodeCheckpoint(const CheckpointIdentity& identity, const State& state);

// DataLoss: the bytes are not those that were written (with `verify` false only what cannot be read at all is refused).
// FailedPrecondition: another job's, shard's or step's.
Result<State> DecodeCheckpoint(std::string_view bytes, const CheckpointIdentity& expected, int64_t step,
                               size_t parameters, bool verify);

// All relative to the run directory.
inline constexpr std::string_view kCheckpointDir = "checkpoint";
std::string StepDir(int64_t step);               // checkpoint/step-00000020
std::string ShardFile(int64_t step, int shard);  // checkpoint/step-00000020/shard-0.ckpt
std::string LatestFile();                        // checkpoint/latest

std::string LatestText(int64_t step);
std::optional<int64_t> ParseLatest(std::string_view text);
// The step of a directory's name, "step-00000020".
std::optional<int64_t> StepOfName(std::string_view name);

// Of the steps on disk, those that may go once `latest` is the newest: all but the `keep` newest up to it. Those above
// it belong to a run that was given up; they are overwritten when this one comes there.
std::vector<int64_t> StepsToDrop(std::vector<int64_t> on_disk, int64_t latest, int keep);

}  // namespace triodrill::shadow::trainer
