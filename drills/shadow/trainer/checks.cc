#include "drills/shadow/trainer/checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "drills/shadow/trainer/digest.h"
#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

constexpr size_t kNormWindow = 64;
constexpr size_t kFewestNorms = 16;  // with fewer there is no telling what is ordinary
constexpr double kNormDeviations = 6;
constexpr double kSmallestDeviation = 0.05;  // of a logarithm: norms that hardly move at all are no reason for alarm
constexpr size_t kSealFloats = sizeof(double) / sizeof(float);

Result<int> Period(absl::string_view name, absl::string_view text) {
  int period = 0;
  if (!absl::SimpleAtoi(text, &period) || period < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("checks: '", name, ":", text, "': not a number of steps; write ", name, ":8"));
  }
  return period;
}

// Within each data-parallel group: those whose value is not the one that more than half of the group have.
template <typename ValueOf>
void AddOddOnes(const std::string& check, const Layout& layout, std::span<const Record> records, ValueOf value_of,
                std::vector<Finding>& findings) {
  const int replicas = layout.Replicas();
  for (int shard = 0; shard < layout.tensor_parallel; ++shard) {
    std::map<uint64_t, int> votes;
    for (int replica = 0; replica < replicas; ++replica) {
      ++votes[value_of(records[static_cast<size_t>(layout.Rank(replica, shard))])];
    }
    if (votes.size() == 1) continue;
    const auto most =
        std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most->second * 2 <= replicas) {
      findings.push_back(
          {check, -1, absl::StrFormat("shard %d: %d different values and no majority", shard, votes.size())});
      continue;
    }
    for (int replica = 0; replica < replicas; ++replica) {
      const int rank = layout.Rank(replica, shard);
      const uint64_t value = value_of(records[static_cast<size_t>(rank)]);
      if (value == most->first) continue;
      findings.push_back({check, rank,
                          absl::StrFormat("shard %d: rank %d has %016x, %d of %d have %016x", shard, rank, value,
                                          most->second, replicas, most->first)});
    }
  }
}

void AddWrongSums(const Layout& layout, std::span<const Record> records, std::vector<Finding>& findings) {
  std::map<int, std::vector<int>> accusers;
  for (size_t rank = 0; rank < records.size(); ++rank) {
    const int accused = records[rank].accuses.collective_checksum;
    if (accused >= 0) accusers[accused].push_back(static_cast<int>(rank));
  }
  for (const auto& [accused, by] : accusers) {
    // What a rank sent wrong, everybody got wrong; what one alone got wrong, went wrong at that one.
    const bool sender = static_cast<int>(by.size()) * 2 >= layout.Replicas();
    const std::string detail = absl::StrFormat("what came from rank %d does not add up at %d of %d ranks", accused,
                                               by.size(), layout.Replicas());
    if (sender) {
      findings.push_back({"collective_checksum", accused, detail});
    } else {
      for (const int rank : by) findings.push_back({"collective_checksum", rank, detail});
    }
  }
}

// A rank that cannot compute accuses its neighbour too: the word of the accused does not count.
void AddPeerReplays(std::span<const Record> records, std::vector<Finding>& findings) {
  std::vector<bool> accused(records.size());
  for (const Record& record : records) {
    const int32_t rank = record.accuses.peer_replay;
    if (rank >= 0 && static_cast<size_t>(rank) < records.size()) accused[static_cast<size_t>(rank)] = true;
  }
  for (size_t rank = 0; rank < records.size(); ++rank) {
    const int32_t named = records[rank].accuses.peer_replay;
    if (named < 0 || accused[rank]) continue;
    findings.push_back({"peer_replay", named, Cat("rank ", rank, " computes another gradient for it")});
  }
}

template <typename NamedOf>
void AddOwn(const std::string& check, std::string_view detail, std::span<const Record> records, NamedOf named_of,
            std::vector<Finding>& findings) {
  for (const Record& record : records) {
    if (named_of(record.accuses) >= 0) findings.push_back({check, named_of(record.accuses), std::string(detail)});
  }
}

}  // namespace

Result<Checks> ParseChecks(std::string_view text) {
  Checks checks;
  if (text.empty() || text == "none") return checks;
  for (const absl::string_view one : absl::StrSplit(View(text), ',')) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(one, absl::MaxSplits(':', 1));
    if (parts.first == "replay") {
      TRIODRILL_ASSIGN_OR_RETURN(checks.replay_every, Period(parts.first, parts.second));
    } else if (parts.first == "peer_replay") {
      TRIODRILL_ASSIGN_OR_RETURN(checks.peer_replay_every, Period(parts.first, parts.second));
    } else if (one == "gradient_hash") {
      checks.gradient_hash = true;
    } else if (one == "state_hash") {
      checks.state_hash = true;
    } else if (one == "norm") {
      checks.norm = true;
    } else if (one == "collective_checksum") {
      checks.collective_checksum = true;
    } else if (one == "abft") {
      checks.abft = true;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("checks: '", one,
                       "': no such check; known are gradient_hash, state_hash, norm, "
                       "collective_checksum, abft, replay:STEPS, peer_replay:STEPS, none"));
    }
  }
  return checks;
}

std::string NormHistory::Objection(double squared_norm) const {
  const double log = 0.5 * std::log(squared_norm);
  if (!std::isfinite(squared_norm)) return "the gradient's norm is not finite";
  if (logs_.size() < kFewestNorms) return "";
  double mean = 0;
  for (const double one : logs_) mean += one / static_cast<double>(logs_.size());
  double variance = 0;
  for (const double one : logs_) variance += (one - mean) * (one - mean) / static_cast<double>(logs_.size());
  const double deviation = std::max(std::sqrt(variance), kSmallestDeviation);
  const double away = std::fabs(log - mean) / deviation;
  if (away <= kNormDeviations) return "";
  return absl::StrFormat("the gradient's norm %.4g is %.1f deviations from the last %d", std::sqrt(squared_norm), away,
                         logs_.size());
}

void NormHistory::Add(double squared_norm) {
  if (!(squared_norm > 0) || !std::isfinite(squared_norm)) return;
  logs_.push_back(0.5 * std::log(squared_norm));
  if (logs_.size() > kNormWindow) logs_.pop_front();
}

double SquaredNormOf(const Layout& layout, std::span<const Record> records, int replica) {
  double sum = 0;
  for (int shard = 0; shard < layout.tensor_parallel; ++shard) {
    sum += records[static_cast<size_t>(layout.Rank(replica, shard))].squared_norm;
  }
  return sum;
}

std::vector<Finding> Judge(const Checks& checks, const Layout& layout, std::span<const Record> records,
                           const NormHistory& norms) {
  std::vector<Finding> findings;
  if (checks.gradient_hash) {
    AddOddOnes(
        "gradient_hash", layout, records, [](const Record& one) { return one.gradient_hash; }, findings);
  }
  if (checks.state_hash) {
    AddOddOnes(
        "state_hash", layout, records, [](const Record& one) { return one.state_hash; }, findings);
  }
  if (checks.collective_checksum) AddWrongSums(layout, records, findings);
  if (checks.replay_every > 0) {
    AddOwn(
        "replay", "it computes another gradient than it sent", records, [](const Accusations& by) { return by.replay; },
        findings);
  }
  if (checks.peer_replay_every > 0) AddPeerReplays(records, findings);
  if (checks.abft) {
    AddOwn(
        "abft", "its first product does not agree with its column checksums", records,
        [](const Accusations& by) { return by.abft; }, findings);
  }
  if (checks.norm) {
    for (int replica = 0; replica < layout.Replicas(); ++replica) {
      const std::string objection = norms.Objection(SquaredNormOf(layout, records, replica));
      if (objection.empty()) continue;
      findings.push_back({"norm", -1, objection});
      break;  // the others have the same gradient, or gradient_hash names them
    }
  }
  return findings;
}

int FirstWrongSum(std::span<const float> blocks, size_t stride) {
  for (size_t block = 0; (block + 1) * stride <= blocks.size(); ++block) {
    const auto values = blocks.subspan(block * stride, stride - kSealFloats);
    double said = 0;
    std::memcpy(&said, values.data() + values.size(), sizeof said);
    if (!SameBits(SumOf(values), said)) return static_cast<int>(block);
  }
  return -1;
}

void SealWithSum(std::span<float> block) {
  const auto values = block.first(block.size() - kSealFloats);
  const double sum = SumOf(values);
  std::memcpy(block.data() + values.size(), &sum, sizeof sum);
}

bool ColumnChecksumHolds(double error) { return error <= kColumnChecksumLimit; }

}  // namespace triodrill::shadow::trainer
