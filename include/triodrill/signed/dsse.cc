#include "triodrill/signed/dsse.h"

#include <openssl/evp.h>

#include <nlohmann/json.hpp>

#include "triodrill/schema/json.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

using Json = nlohmann::json;

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Status NotAnEnvelope(std::string_view what) {
  return absl::DataLossError(Cat("not a DSSE envelope as it was written: ", what));
}

// The string member; nullptr if there is none.
const std::string* Member(const Json& tree, const char* name) {
  const auto found = tree.find(name);
  return found == tree.end() ? nullptr : found->get_ptr<const std::string*>();
}

}  // namespace

std::string Pae(std::string_view type, std::string_view body) {
  return Cat("DSSEv1 ", type.size(), " ", type, " ", body.size(), " ", body);
}

std::string Base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and a zero, which OpenSSL adds
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), Bytes(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

Result<std::string> FromBase64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = text.size() % 4 != 0 ? -1
                                        : EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), Bytes(text),
                                                          static_cast<int>(text.size()));
  if (size < 0) return absl::DataLossError("not base64");
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  if (static_cast<size_t>(size) < padding) return absl::DataLossError("not base64");
  bytes.resize(static_cast<size_t>(size) - padding);
  if (Base64(bytes) != text) return absl::DataLossError("not base64 in its one form");
  return bytes;
}

std::string EnvelopeText(const Envelope& envelope) {
  std::string text = "{\"payload\":";
  AppendJsonString(Base64(envelope.payload), text);
  text += ",\"payloadType\":";
  AppendJsonString(envelope.payload_type, text);
  text += ",\"signatures\":[{\"keyid\":";
  AppendJsonString(envelope.key_id, text);
  text += ",\"sig\":";
  AppendJsonString(Base64(envelope.signature), text);
  text += "}]}\n";
  return text;
}

Result<Envelope> ParseEnvelope(std::string_view text) {
  const Json tree = Json::parse(text, nullptr, false);
  if (!tree.is_object()) return NotAnEnvelope("not a JSON object");
  const std::string* const payload = Member(tree, "payload");
  const std::string* const type = Member(tree, "payloadType");
  const auto signatures = tree.find("signatures");
  if (payload == nullptr || type == nullptr || signatures == tree.end() || !signatures->is_array() ||
      signatures->size() != 1 || !signatures->front().is_object()) {
    return NotAnEnvelope("it needs payload, payloadType and one signature");
  }
  const std::string* const key_id = Member(signatures->front(), "keyid");
  const std::string* const signature = Member(signatures->front(), "sig");
  if (key_id == nullptr || signature == nullptr) return NotAnEnvelope("its signature needs keyid and sig");
  const Result<std::string> payload_bytes = FromBase64(*payload);
  const Result<std::string> signature_bytes = FromBase64(*signature);
  if (!payload_bytes.ok() || !signature_bytes.ok()) return NotAnEnvelope("payload or sig is not base64");
  Envelope envelope{*type, *payload_bytes, *key_id, *signature_bytes};
  if (EnvelopeText(envelope) != text) return NotAnEnvelope("its bytes are not those of its one form");
  return envelope;
}

}  // namespace triodrill
