// The last files of a bundle: what was in it, and who says so.
#pragma once

#include "reports/evidence/derive.h"
#include "reports/evidence/signing.h"
#include "reports/evidence/statement.h"
#include "reports/evidence/tree.h"

namespace triodrill {

// Every file of `tree` that a manifest lists, with size and digest. Reads each once, through one buffer.
Result<std::vector<FileEntry>> Digests(const BundleTree& tree);

// Writes manifest.json and, with a key, the signed statement. After WriteDerived and before Bundle::Complete: a crash
// between them leaves a bundle that says that it is incomplete.
Status Seal(const Bundle& bundle, const Derived& derived, const SigningKey* key);

}  // namespace triodrill
