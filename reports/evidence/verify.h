// What a bundle proves to somebody who was not there: signature, digests, chain, and figures and verdict measured and
// judged again from the timeline. Looks from the outside in and stops at the first broken link: what nobody vouches for
// is not read. Reads every file through one buffer; only the facts of the timeline are held.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/evidence/derive.h"
#include "reports/evidence/signing.h"
#include "triodrill/exit_code.h"

namespace triodrill {

enum class Proof {
  kProved,
  kRefuted,  // the bundle says otherwise than it should: changed, or signed by somebody else
  kOpen,     // nothing speaks against it, and nothing for it
};

struct ProofStep {
  std::string name;  // "signature"
  Proof proof = Proof::kOpen;
  std::string text;
};

struct Verification {
  std::vector<ProofStep> steps;
  std::vector<std::string> beyond;  // what no bundle can prove
  Proof proof = Proof::kOpen;       // refuted > open > proved
  std::string headline;
  std::string verdict_headline;  // of the run, if it was derived again
};

// Of a directory or an archive. An error is what is no bundle of a known schema, or holds what has no business there.
Result<Verification> VerifyBundle(const std::string& named, const PublicKey& key, std::string_view tool_version);

// 0 proved, 1 refuted, 2 open.
ExitCode CodeOf(Proof proof);

std::string VerificationText(const Verification& verification);
std::string VerificationJson(const Verification& verification, const std::string& directory);

}  // namespace triodrill
