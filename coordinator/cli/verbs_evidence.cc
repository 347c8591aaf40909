// keygen, verify, pack: who vouches for a bundle, what it proves, and how it travels. No root, no agent, no network.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "coordinator/cli/inputs.h"
#include "coordinator/cli/verbs.h"
#include "coordinator/cli/version.h"
#include "reports/evidence/archive.h"
#include "reports/evidence/bundle.h"
#include "reports/evidence/verify.h"
#include "triodrill/text.h"

namespace triodrill::cli {

ExitCode Keygen(const KeygenOptions& options) {
  const Result<SigningKey> key = SigningKey::Generate();
  const Status saved = key.ok() ? key->Save(options.out) : key.status();
  if (!saved.ok()) {
    PrintError(std::string(saved.message()));
    return key.ok() ? ExitCode::kRefused : ExitCode::kInternal;
  }
  std::printf("%s/%s: private, keep it: `triodrill run --sign` signs with it\n", options.out.c_str(),
              std::string(kPrivateKeyFile).c_str());
  std::printf("%s/%s: public, give it away: `triodrill verify --key` wants it\n", options.out.c_str(),
              std::string(kPublicKeyFile).c_str());
  std::printf("key %s\n", key->public_key().id().c_str());
  std::printf("as an approver: {name: NAME, key: %s}\n", key->public_key().line().c_str());
  return ExitCode::kPassed;
}

ExitCode Pack(const PackOptions& options) {
  std::string directory = options.bundle;
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  const Result<LoadedBundle> bundle = LoadBundle(directory);  // whatever else lies about is no bundle
  if (!bundle.ok()) {
    PrintError(absl::StrCat("pack ", options.bundle, ": ", bundle.status().message()));
    return ExitCode::kInvalidFile;
  }
  if (!bundle->complete) {
    std::fprintf(stderr, "triodrill: warning: %s is incomplete: %s\n", directory.c_str(), bundle->problem.c_str());
  }
  const std::string archive = options.out.empty() ? Cat(directory, kArchiveSuffix) : options.out;
  if (const Status packed = PackBundle(directory, archive); !packed.ok()) {
    PrintError(std::string(packed.message()));
    return ExitCode::kInvalidFile;
  }
  std::printf("%s\n", archive.c_str());
  return ExitCode::kPassed;
}

ExitCode Verify(const VerifyOptions& options) {
  const Result<PublicKey> key = LoadPublicKey(options.key);
  if (!key.ok()) {
    PrintError(std::string(key.status().message()));
    return ExitCode::kInvalidFile;
  }
  const Result<Verification> verification = VerifyBundle(options.bundle, *key, kVersion);
  if (!verification.ok()) {
    PrintError(absl::StrCat("verify ", options.bundle, ": ", verification.status().message()));
    return ExitCode::kInvalidFile;
  }
  std::fputs((options.json ? VerificationJson(*verification, options.bundle) : VerificationText(*verification)).c_str(),
             stdout);
  return triodrill::CodeOf(verification->proof);
}

}  // namespace triodrill::cli
