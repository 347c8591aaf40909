// A public Ed25519 key (RFC 8032), through OpenSSL. A value that shares one key object; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "triodrill/status.h"

struct evp_pkey_st;

namespace triodrill {

class PublicKey {
 public:
  // SubjectPublicKeyInfo, as PEM or as its DER form in base64. The error does not name the place: its caller knows it.
  static Result<PublicKey> Parse(std::string_view text);
  static Result<PublicKey> Of(std::shared_ptr<evp_pkey_st> key);

  bool Verifies(std::string_view bytes, std::string_view signature) const;
  // SHA-256 of the DER form, in hex: what an envelope names its key by.
  const std::string& id() const { return id_; }
  // The DER form in base64: one line that Parse takes.
  const std::string& line() const { return line_; }

 private:
  PublicKey(std::shared_ptr<evp_pkey_st> key, std::string id, std::string line)
      : key_(std::move(key)), id_(std::move(id)), line_(std::move(line)) {}
  std::shared_ptr<evp_pkey_st> key_;
  std::string id_;
  std::string line_;
};

// SHA-256 in lower-case hex; "" if it cannot be had, which is no digest.
std::string HexDigest(std::string_view bytes);

}  // namespace triodrill
