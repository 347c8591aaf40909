// The checks for silent data corruption, as values: what each rank tells all others about a step before it is applied,
// and what follows from it. Pure: every rank judges the same records and so comes to the same findings.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "drills/shadow/trainer/model.h"
#include "triodrill/status.h"

namespace triodrill::shadow::trainer {

// Which are on. A period of 0 is off.
struct Checks {
  bool gradient_hash = false;        // the reduced gradient is the same in a data-parallel group
  bool state_hash = false;           // parameters and optimizer state are the same in a data-parallel group
  bool norm = false;                 // the gradient's norm is like the last ones'
  bool collective_checksum = false;  // what came from a rank adds up to what that rank had before it sent
  bool abft = false;                 // the first product agrees with its column checksums
  int replay_every = 0;              // the own gradient, computed again, is the one that was sent
  int peer_replay_every = 0;         // the replica before this one's gradient, computed here, is the one it sent
};

// Whether what is done every `period` steps is done in `step`.
constexpr bool IsDue(int period, int64_t step) { return period > 0 && step % period == 0; }

// "gradient_hash,norm,replay:8"; "none" or nothing: no checks.
Result<Checks> ParseChecks(std::string_view text);

// What only the accuser can see; it names a rank, or nobody (-1).
struct Accusations {
  int32_t collective_checksum = -1;
  int32_t replay = -1;
  int32_t peer_replay = -1;
  int32_t abft = -1;
};

// One rank's word on the step being made: a block of the world's all-gather.
struct Record {
  int64_t step = 0;            // being made
  uint64_t gradient_hash = 0;  // of the reduced gradient
  uint64_t state_hash = 0;     // before the step
  double squared_norm = 0;     // of the reduced gradient of its shard
  double loss = 0;
  int64_t durable = -1;  // newest checkpoint of its own that is on disk
  Accusations accuses;
};
static_assert(std::is_trivially_copyable_v<Record>);

struct Finding {
  std::string check;
  int rank = -1;  // whom it names; -1: nobody
  std::string detail;
};

// The last norms of the job. A job that was joined anew starts over, so that all ranks have the same.
class NormHistory {
 public:
  // Why `squared_norm` is out of the ordinary; empty if it is not.
  std::string Objection(double squared_norm) const;
  void Add(double squared_norm);

 private:
  std::deque<double> logs_;  // natural logarithms, the newest last
};

// Everything the records say against anybody; empty if all is well. Only the checks that are on are looked at.
std::vector<Finding> Judge(const Checks& checks, const Layout& layout, std::span<const Record> records,
                           const NormHistory& norms);

// Of one replica, over all its shards.
double SquaredNormOf(const Layout& layout, std::span<const Record> records, int replica);

// The first whose part of `blocks` (each `stride` values: a gradient, then its sum as two floats' worth of bits) does
// not add up, as a number of the group; -1 if all do. The sum is taken in the same order at both ends, so on the same
// bits it is the same to the bit: there is no rounding for a threshold to allow for (worst clean difference: 0).
int FirstWrongSum(std::span<const float> blocks, size_t stride);
// Writes the sum of all but the last two of `block` into those.
void SealWithSum(std::span<float> block);

// Twice the worst of 6,000 clean steps of each of six seeds, eight ranks, two shards (0.373).
inline constexpr double kColumnChecksumLimit = 0.75;
bool ColumnChecksumHolds(double error);

}  // namespace triodrill::shadow::trainer
