#include "drills/shadow/trainer/checkpoint.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

constexpr size_t kDigestBytes = 32;
constexpr std::string_view kStepPrefix = "step-";

// Little-endian, as on every machine this runs on; no padding.
struct Head {
  char magic[8] = {'T', 'R', 'I', 'O', 'C', 'K', 'P', '1'};
  uint64_t seed = 0;
  int64_t step = 0;
  uint64_t parameters = 0;
  int32_t shard = 0;
  int32_t shards = 0;
};
static_assert(sizeof(Head) == 40);

std::string Digest(std::string_view bytes) {
  std::string digest(kDigestBytes, '\0');
  unsigned int length = 0;
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &length, EVP_sha256(),
             nullptr);
  return digest;
}

void AppendFloats(const std::vector<float>& values, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

std::vector<float> TakeFloats(std::string_view bytes, size_t count) {
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data(), count * sizeof(float));
  return values;
}

}  // namespace

std::string EncodeCheckpoint(const CheckpointIdentity& identity, const State& state) {
  Head head;
  head.seed = identity.seed;
  head.step = state.step;
  head.parameters = state.weights.size();
  head.shard = identity.shard;
  head.shards = identity.shards;
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  AppendFloats(state.weights, bytes);
  AppendFloats(state.momentum, bytes);
  return bytes + Digest(bytes);
}

Result<State> DecodeCheckpoint(std::string_view bytes, const CheckpointIdentity& expected, int64_t step,
                               size_t parameters, bool verify) {
  const size_t length = sizeof(Head) + 2 * parameters * sizeof(float) + kDigestBytes;
  if (bytes.size() != length) {
    return absl::DataLossError(absl::StrFormat("has %d bytes, not %d", bytes.size(), length));
  }
  const std::string_view body = bytes.substr(0, length - kDigestBytes);
  if (verify && Digest(body) != bytes.substr(body.size())) {
    return absl::DataLossError("does not match its SHA-256");
  }
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::memcmp(head.magic, Head().magic, sizeof head.magic) != 0 || head.parameters != parameters) {
    return absl::DataLossError("is no checkpoint of this model");
  }
  if (head.seed != expected.seed || head.shard != expected.shard || head.shards != expected.shards ||
      head.step != step) {
    return absl::FailedPreconditionError(
        absl::StrFormat("is of seed %d, shard %d of %d, step %d; wanted were %d, %d of %d, %d", head.seed, head.shard,
                        head.shards, head.step, expected.seed, expected.shard, expected.shards, step));
  }
  State state;
  state.step = head.step;
  state.weights = TakeFloats(body.substr(sizeof head), parameters);
  state.momentum = TakeFloats(body.substr(sizeof head + parameters * sizeof(float)), parameters);
  return state;
}

std::string StepDir(int64_t step) { return Cat(kCheckpointDir, "/", absl::StrFormat("step-%08d", step)); }
std::string ShardFile(int64_t step, int shard) { return Cat(StepDir(step), "/shard-", shard, ".ckpt"); }
std::string LatestFile() { return Cat(kCheckpointDir, "/latest"); }

std::string LatestText(int64_t step) { return Cat(step, "\n"); }

std::optional<int64_t> ParseLatest(std::string_view text) {
  int64_t step = 0;
  if (!absl::SimpleAtoi(View(text), &step) || step < 0) return std::nullopt;
  return step;
}

std::optional<int64_t> StepOfName(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kStepPrefix.size());
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return ParseLatest(digits);
}

std::vector<int64_t> StepsToDrop(std::vector<int64_t> on_disk, int64_t latest, int keep) {
  std::erase_if(on_disk, [&](int64_t step) { return step > latest; });
  std::sort(on_disk.begin(), on_disk.end(), std::greater<>());
  if (on_disk.size() <= static_cast<size_t>(keep)) return {};
  on_disk.erase(on_disk.begin(), on_disk.begin() + keep);
  return on_disk;
}

}  // namespace triodrill::shadow::trainer
