#include "reports/evidence/signing.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/evidence/files.h"
#include "tests/e2e/program.h"
#include "tests/unit/reports/scratch.h"
#include "tests/unit/reports/signed_bundle.h"
#include "triodrill/signed/dsse.h"

namespace triodrill {
namespace {

using ::testing::HasSubstr;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::string Pem(const std::string& label, const std::string& der) {
  return "-----BEGIN " + label + "-----\n" + Base64(der) + "\n-----END " + label + "-----\n";
}

std::string Message(const Status& status) { return std::string(status.message()); }

class Keys : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(WriteWholeFile(scratch_.Path(name), bytes).ok());
    return scratch_.Path(name);
  }
  Scratch scratch_;
};

TEST_F(Keys, AreSavedForOneAndForAll) {
  const Result<SigningKey> key = SigningKey::Generate();
  ASSERT_TRUE(key.ok()) << key.status();
  ASSERT_TRUE(key->Save(scratch_.Path("a/keys")).ok());
  struct stat status {};
  ASSERT_EQ(::stat(scratch_.Path("a/keys/signing.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const Result<SigningKey> read = SigningKey::Load(scratch_.Path("a/keys/signing.key"));
  const Result<PublicKey> open = LoadPublicKey(scratch_.Path("a/keys/signing.pub"));
  ASSERT_TRUE(read.ok() && open.ok()) << read.status() << open.status();
  EXPECT_EQ(open->id(), key->public_key().id());
  const std::string signature = *read->Sign("what was said");
  EXPECT_TRUE(open->Verifies("what was said", signature));
  EXPECT_FALSE(open->Verifies("what was Said", signature));
  EXPECT_FALSE(open->Verifies("what was said", signature.substr(1)));
  EXPECT_FALSE(SigningKey::Generate()->public_key().Verifies("what was said", signature));
}

TEST_F(Keys, AreNeverWrittenOver) {
  const Result<SigningKey> key = SigningKey::Generate();
  for (const char* file : {"signing.key", "signing.pub"}) {
    Scratch scratch;
    ASSERT_TRUE(WriteWholeFile(scratch.Path(file), "mine").ok());
    const Status saved = key->Save(scratch.directory());
    EXPECT_EQ(saved.code(), absl::StatusCode::kAlreadyExists) << file;
    EXPECT_THAT(Message(saved), HasSubstr(file));
    EXPECT_EQ(*ReadWholeFile(scratch.Path(file)), "mine");
  }
  Scratch scratch;
  ASSERT_EQ(::symlink("/nowhere", scratch.Path("signing.pub").c_str()), 0);
  EXPECT_FALSE(key->Save(scratch.directory()).ok()) << "a dangling link is something, too";
}

TEST_F(Keys, ThatAreNoneAreRefusedWithTheReason) {
  ASSERT_TRUE(SigningKey::Generate()->Save(scratch_.directory()).ok());
  const std::string rsa_like = Write("text", "hello\n");
  EXPECT_THAT(Message(SigningKey::Load(rsa_like).status()), HasSubstr("triodrill keygen"));
  EXPECT_THAT(Message(LoadPublicKey(rsa_like).status()), HasSubstr("signing.pub"));
  EXPECT_FALSE(LoadPublicKey(scratch_.Path("signing.key")).ok()) << "a private key is not a public one";
  EXPECT_FALSE(SigningKey::Load(scratch_.Path("signing.pub")).ok());
  EXPECT_FALSE(SigningKey::Load(scratch_.Path("nowhere")).ok());
  // X25519 is a key of the same size, and for another purpose.
  const std::string x25519 =
      FromHex("302a300506032b656e0321008520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  EXPECT_THAT(Message(LoadPublicKey(Write("x", Pem("PUBLIC KEY", x25519))).status()), HasSubstr("not an Ed25519"));
}

// RFC 8032, section 7.1, test 2.
TEST_F(Keys, SignAsTheStandardSays) {
  const std::string der =
      FromHex("302e020100300506032b6570042204204ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  const Result<SigningKey> key = SigningKey::Load(Write("key", Pem("PRIVATE KEY", der)));
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(*key->Sign("\x72"), FromHex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                                        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"));
}

// The example of the specification of DSSE.
TEST(Dsse, EncodesWhatIsSignedAsTheSpecificationSays) {
  EXPECT_EQ(Pae("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(Dsse, ReadsBackWhatItWroteAndNothingElse) {
  const Envelope envelope{"application/x", std::string("a\0b\n", 4), "key", std::string(64, '\x7f')};
  const std::string text = EnvelopeText(envelope);
  const Result<Envelope> read = ParseEnvelope(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->payload, envelope.payload);
  EXPECT_EQ(read->signature, envelope.signature);
  for (const std::string& other : {std::string(), std::string("{}"), std::string("[]"), text + text, " " + text,
                                   text + "\n", text.substr(0, text.size() - 1), std::string(100000, '['),
                                   std::string(R"({"payload":"","payloadType":"","signatures":[]})")}) {
    EXPECT_FALSE(ParseEnvelope(other).ok()) << other.substr(0, 80);
  }
}

TEST(Base64, HasOneFormOnly) {
  for (const std::string& bytes : {std::string(), std::string("f"), std::string("fo"), std::string("foo"),
                                   std::string("foob"), std::string("\0\xff", 2)}) {
    EXPECT_EQ(*FromBase64(Base64(bytes)), bytes);
  }
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  for (const char* wrong :
       {"Zm9vYh==", "Zm9vYg=", "Zm9v\nYg==", " Zm9vYg==", "Zm9vYg== ", "Zm9v====", "Z", "====", "%m9v"}) {
    EXPECT_FALSE(FromBase64(wrong).ok()) << wrong;
  }
}

// An implementation that shares no line with ours.
TEST(Dsse, IsAcceptedByAnother) {
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no /usr/bin/python3";
  SignedBundle bundle;
  bundle.WriteWhole();
  testing::TempDir dir;
  ASSERT_TRUE(bundle.key().Save(dir.path()).ok());
  const auto check = [&](const std::string& envelope) {
    testing::Program program(
        {"/usr/bin/python3", TRIODRILL_SOURCE_DIR "/tests/unit/reports/dsse_check.py", envelope, dir / "signing.pub"},
        dir / "out", dir / "err");
    const std::optional<int> code = program.Wait(std::chrono::seconds(60));  // first: the output is there only then
    return std::pair(code, program.Out() + program.Err());
  };
  const auto [accepted, said] = check(bundle.Path("bundle.intoto.jsonl"));
  if (accepted == 77) GTEST_SKIP() << said;
  EXPECT_EQ(accepted, 0) << said;
  EXPECT_THAT(said, HasSubstr("https://in-toto.io/Statement/v1"));
  std::string forged = bundle.Read("bundle.intoto.jsonl");
  forged[40] = forged[40] == 'A' ? 'B' : 'A';
  bundle.Put("forged", forged);
  EXPECT_EQ(check(bundle.Path("forged")).first, 1) << "it must be able to refuse";
}

}  // namespace
}  // namespace triodrill
