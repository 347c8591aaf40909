#include "reports/evidence/signing.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "reports/evidence/files.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSignatureBytes = 64;
constexpr size_t kLongestPem = size_t{64} << 10;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using Key = std::shared_ptr<evp_pkey_st>;

Key Owned(EVP_PKEY* key) { return {key, EVP_PKEY_free}; }

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Status OpensslError(std::string_view what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return absl::InternalError(Cat(what, ": ", text.data()));
}

// OpenSSL would ask on the terminal.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

Result<std::string> PemOf(EVP_PKEY* key, bool secret) {
  const Bio bio(BIO_new(BIO_s_secmem()), &BIO_free);
  const bool written =
      bio && (secret ? PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1
                     : PEM_write_bio_PUBKEY(bio.get(), key) == 1);
  char* text = nullptr;
  const long size = written ? BIO_get_mem_data(bio.get(), &text) : 0;
  if (size <= 0) return OpensslError("write key as PEM");
  return std::string(text, static_cast<size_t>(size));
}

// A file that was not there before.
Status WriteNew(const std::string& path, std::string_view bytes, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return ErrnoStatus("create", path);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());  // a few hundred bytes
  Status status = written == static_cast<ssize_t>(bytes.size()) ? Ok() : ErrnoStatus("write", path);
  if (status.ok() && ::fsync(fd) != 0) status = ErrnoStatus("sync", path);
  if (::close(fd) != 0 && status.ok()) status = ErrnoStatus("close", path);
  if (!status.ok()) ::unlink(path.c_str());
  return status;
}

Status WrongKey(const std::string& path, std::string_view what, std::string_view hint) {
  ERR_clear_error();
  return absl::InvalidArgumentError(Cat("read key ", path, ": ", what, "; ", hint));
}

Result<std::string> ReadPem(const std::string& path) {
  TRIODRILL_ASSIGN_OR_RETURN(std::string pem, ReadWholeFile(path));
  if (pem.size() > kLongestPem) return WrongKey(path, "larger than any key", "give a PEM file");
  return pem;
}

}  // namespace

Result<PublicKey> LoadPublicKey(const std::string& path) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  Result<PublicKey> key = PublicKey::Parse(text);
  if (!key.ok()) return absl::InvalidArgumentError(Cat("read key ", path, ": ", std::string(key.status().message())));
  return key;
}

Result<SigningKey> SigningKey::Of(Key key) {
  TRIODRILL_ASSIGN_OR_RETURN(PublicKey public_key, PublicKey::Of(key));
  return SigningKey(std::move(key), std::move(public_key));
}

Result<SigningKey> SigningKey::Generate() {
  Key key = Owned(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (!key) return OpensslError("make an Ed25519 key");
  return Of(std::move(key));
}

Result<SigningKey> SigningKey::Load(const std::string& path) {
  TRIODRILL_ASSIGN_OR_RETURN(std::string pem, ReadPem(path));
  const absl::Cleanup forget = [&pem] { OPENSSL_cleanse(pem.data(), pem.size()); };
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  Key key = Owned(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassphrase, nullptr) : nullptr);
  if (!key) {
    return WrongKey(path, "not a private key in PEM without a passphrase",
                    "make one with `triodrill keygen --out DIR`");
  }
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
    return WrongKey(path, "not an Ed25519 key", "make one with `triodrill keygen --out DIR`");
  }
  return Of(std::move(key));
}

Result<std::string> SigningKey::Sign(std::string_view bytes) const {
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::string signature(kSignatureBytes, '\0');
  size_t size = signature.size();
  auto* const out = reinterpret_cast<unsigned char*>(signature.data());
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), out, &size, Bytes(bytes), bytes.size()) != 1 || size != kSignatureBytes) {
    return OpensslError("sign");
  }
  return signature;
}

Status SigningKey::Save(const std::string& directory) const {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return absl::FailedPreconditionError(Cat("make directory ", directory, ": ", error.message()));
  const std::string secret_path = (fs::path(directory) / kPrivateKeyFile).string();
  const std::string public_path = (fs::path(directory) / kPublicKeyFile).string();
  for (const std::string& path : {secret_path, public_path}) {
    if (fs::symlink_status(path, error).type() == fs::file_type::not_found) continue;
    return absl::AlreadyExistsError(
        Cat("make keys: ", path, " is there already, and a key is never written over; give --out another directory"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(std::string secret, PemOf(key_.get(), true));
  const absl::Cleanup forget = [&secret] { OPENSSL_cleanse(secret.data(), secret.size()); };
  TRIODRILL_ASSIGN_OR_RETURN(const std::string open, PemOf(key_.get(), false));
  TRIODRILL_RETURN_IF_ERROR(WriteNew(secret_path, secret, 0600));
  const Status written = WriteNew(public_path, open, 0644);
  if (!written.ok()) ::unlink(secret_path.c_str());
  return written;
}

}  // namespace triodrill
