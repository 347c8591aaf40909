// A person with a key, for tests of whatever asks for approvals: signs what a real one would, and what none would.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <memory>
#include <string>
#include <utility>

#include "triodrill/signed/approval.h"
#include "triodrill/signed/dsse.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/faults.pb.h"

namespace triodrill::testing {

class Person {
 public:
  explicit Person(std::string name)
      : name_(std::move(name)), secret_(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free) {}

  const std::string& name() const { return name_; }
  PublicKey key() const { return *PublicKey::Of(secret_); }
  ApproverKey approver() const { return {name_, key()}; }
  v1::Approver entry() const {
    v1::Approver entry;
    entry.set_name(name_);
    entry.set_key(key().line());
    return entry;
  }

  std::string Sign(const std::string& payload, const std::string& type = std::string(kInTotoType)) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    const std::string bytes = Pae(type, payload);
    std::string signature(64, '\0');
    size_t size = signature.size();
    EXPECT_EQ(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, secret_.get()), 1);
    EXPECT_EQ(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()),
              1);
    return EnvelopeText({type, payload, key().id(), signature});
  }

  // As `triodrill approve` writes it, with this one's name and key in it.
  std::string Approve(v1::Approval approval) const {
    approval.set_approver(name_);
    approval.set_key_id(key().id());
    return Sign(ApprovalStatement(approval));
  }

 private:
  std::string name_;
  std::shared_ptr<EVP_PKEY> secret_;
};

inline constexpr int64_t kNow_s = 1'796'000'000;

inline v1::Parameters LostParameters() {
  v1::Parameters with;
  with.mutable_node_lost()->set_match("trainer");
  return with;
}

// node.lost, as a drill's fault `lost`, for at most 30 s, on any node.
inline v1::ApprovedFault LostNode() {
  return FaultToApprove("lost", "node.lost", LostParameters(), std::chrono::seconds(30));
}

inline v1::Approval ApprovalOf(const std::string& plan_digest, int64_t now_s = kNow_s) {
  v1::Approval approval;
  approval.set_plan_digest(plan_digest);
  approval.set_drill("a-drill");
  approval.set_partition("embedded");
  approval.set_user("ana");
  approval.set_host("ops-1");
  approval.set_issued_s(now_s - 600);
  approval.set_expires_s(now_s + 3600);
  *approval.add_faults() = LostNode();
  return approval;
}

inline std::string DigestOf(char c) { return std::string(64, c); }

}  // namespace triodrill::testing
