#include "triodrill/signed/public_key.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>

#include "triodrill/signed/dsse.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr size_t kSignatureBytes = 64;
constexpr size_t kLongestKey = size_t{64} << 10;
constexpr std::string_view kBlank = " \t\r\n";

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using Key = std::shared_ptr<evp_pkey_st>;

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// OpenSSL would ask on the terminal.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

Status WrongKey(std::string_view what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(Cat(what, "; give the signing.pub that `triodrill keygen` made"));
}

Key FromPem(std::string_view text) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
  return {bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, &NoPassphrase, nullptr) : nullptr, EVP_PKEY_free};
}

Key FromLine(std::string_view text) {
  const Result<std::string> der = FromBase64(text);
  if (!der.ok()) return nullptr;
  const unsigned char* at = Bytes(*der);
  Key key{d2i_PUBKEY(nullptr, &at, static_cast<long>(der->size())), EVP_PKEY_free};
  return key && at == Bytes(*der) + der->size() ? key : nullptr;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace

std::string HexDigest(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1) return "";
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Result<PublicKey> PublicKey::Of(Key key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key.get(), &der);
  if (size <= 0) return WrongKey("a public key that cannot be encoded");
  const std::string bytes(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  std::string id = HexDigest(bytes);
  if (id.empty()) return absl::InternalError("digest a public key: OpenSSL has no SHA-256");
  return PublicKey(std::move(key), std::move(id), Base64(bytes));
}

Result<PublicKey> PublicKey::Parse(std::string_view text) {
  text = Trimmed(text);
  if (text.size() > kLongestKey) return WrongKey("larger than any key");
  Key key = text.starts_with("-----BEGIN ") ? FromPem(text) : FromLine(text);
  if (!key) return WrongKey("not a public key in PEM, nor in base64");
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) return WrongKey("not an Ed25519 key");
  return Of(std::move(key));
}

bool PublicKey::Verifies(std::string_view bytes, std::string_view signature) const {
  if (signature.size() != kSignatureBytes) return false;
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const bool good =
      context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(bytes), bytes.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace triodrill
