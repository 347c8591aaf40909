// The history of runs, suspects and incidents in one SQLite file (mode 0600), and the only code that touches it.
//
// Used on one thread; several processes may have it open. A writer waits for another (`patience`, then an error that
// says so); each call that writes is one transaction. A crash leaves what was committed, and beside the file the
// rollback journal of what was not: the next to open it takes that back, also one that only reads, if it may write to
// the file.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/ledger/rows.h"
#include "reports/ledger/sqlite.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::ledger {

inline constexpr Nanos kPatience = std::chrono::seconds(10);

enum class Addition { kAdded, kAlreadyThere };

// What became of one run.
struct Added {
  Addition what = Addition::kAdded;
  std::string release;  // that it stands under
};

class Ledger {
 public:
  // NotFound: there is no such file. DataLoss: it is no ledger, or of a version that this program does not know.
  static Result<Ledger> OpenToRead(const std::string& path, Nanos patience = kPatience);
  // Made, with its tables, where there is none.
  static Result<Ledger> OpenToWrite(const std::string& path, Nanos patience = kPatience);

  // All or none. A run that is there already is left as it is; one that is there with other facts or another plan is
  // FailedPrecondition. `at` is the time in UTC.
  Result<std::vector<Added>> Add(std::span<const ToldRun> runs, const std::string& at);
  // InvalidArgument: there is no such entry.
  Status Dispose(const DispositionRow& said);
  Result<int64_t> Add(const IncidentRow& incident);

  Result<LedgerRows> Read();  // as it stands at one instant

 private:
  explicit Ledger(Database database) : database_(std::move(database)) {}

  Status CheckVersion(const std::string& path, bool& fresh);
  Result<Added> AddOne(const ToldRun& told, const std::string& at);
  Status PutRun(const ToldRun& told, const std::string& at);
  Status PutConditions(const RunRow& run, const Conditions& conditions);
  Status PutTrials(const RunRow& run, int64_t id);

  Database database_;
};

}  // namespace triodrill::ledger
