// Ed25519 keys (RFC 8032) as PEM files, through OpenSSL. Values that share one key object; any thread.
//
//   signing.key   PKCS#8, not encrypted, mode 0600: who has it can vouch for anything
//   signing.pub   SubjectPublicKeyInfo: what `verify --key` wants
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "triodrill/signed/public_key.h"
#include "triodrill/status.h"

namespace triodrill {

inline constexpr std::string_view kPrivateKeyFile = "signing.key";
inline constexpr std::string_view kPublicKeyFile = "signing.pub";

Result<PublicKey> LoadPublicKey(const std::string& path);

class SigningKey {
 public:
  static Result<SigningKey> Generate();
  // Never asks anybody for a passphrase: a key that has one is refused.
  static Result<SigningKey> Load(const std::string& path);

  Result<std::string> Sign(std::string_view bytes) const;
  const PublicKey& public_key() const { return public_; }
  // Makes both files in `directory`, which is made if need be. Neither may be there: a key is never written over.
  Status Save(const std::string& directory) const;

 private:
  SigningKey(std::shared_ptr<evp_pkey_st> key, PublicKey public_key)
      : key_(std::move(key)), public_(std::move(public_key)) {}
  static Result<SigningKey> Of(std::shared_ptr<evp_pkey_st> key);
  std::shared_ptr<evp_pkey_st> key_;
  PublicKey public_;
};

}  // namespace triodrill
