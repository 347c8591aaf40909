// A ledger's tables as values.
#pragma once

#include "reports/ledger/rows.h"
#include "reports/ledger/sqlite.h"

namespace triodrill::ledger {

// Within one transaction of the caller's.
Result<LedgerRows> ReadRows(Database& database);

}  // namespace triodrill::ledger
