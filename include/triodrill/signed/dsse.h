// DSSE envelopes (Dead Simple Signing Envelope 1.0): one payload, its type, one signature over both. Pure.
#pragma once

#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace triodrill {

inline constexpr std::string_view kInTotoType = "application/vnd.in-toto+json";

// What is signed: "DSSEv1 SP LEN(type) SP type SP LEN(body) SP body".
std::string Pae(std::string_view type, std::string_view body);

struct Envelope {
  std::string payload_type;
  std::string payload;
  std::string key_id;     // a hint only: nothing vouches for it
  std::string signature;  // as it is, not in base64
};

// One line, with a newline at its end.
std::string EnvelopeText(const Envelope& envelope);
// Takes exactly what EnvelopeText writes: one signature, one way to write it. So no byte can change unseen, not even
// those that the signature does not cover.
Result<Envelope> ParseEnvelope(std::string_view text);

// RFC 4648, with padding. Decoding refuses what encoding would not have written.
std::string Base64(std::string_view bytes);
Result<std::string> FromBase64(std::string_view text);

}  // namespace triodrill
