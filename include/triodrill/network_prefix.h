// An address or a network as a person writes it: "10.77.0.12", "10.77.0.64/26", "fd77::/64". One reading for whoever
// reads a drill and for whoever cuts the traffic. Pure.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/text.h"

namespace triodrill {

struct NetworkPrefix {
  int family = AF_INET;
  std::array<unsigned char, 16> bytes{};  // in network order; the first four for IPv4
  int length = 0;                         // of the prefix, in bits; never 0
  std::string address;                    // as the kernel's tools spell it

  bool IsHost() const { return length == (family == AF_INET ? 32 : 128); }
  std::string Text() const { return IsHost() ? address : Cat(address, "/", length); }
  bool operator==(const NetworkPrefix& other) const {
    return family == other.family && bytes == other.bytes && length == other.length;
  }
};

inline constexpr int kMostPrefixes = 256;

// InvalidArgument says what is wrong with it and what to write instead.
inline Result<NetworkPrefix> ParseNetworkPrefix(const std::string& text) {
  NetworkPrefix prefix;
  const size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  prefix.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  const int bits = prefix.family == AF_INET ? 32 : 128;
  if (::inet_pton(prefix.family, address.c_str(), prefix.bytes.data()) != 1) {
    return absl::InvalidArgumentError(Cat("`", text, "` is no address; write one like 10.77.0.12 or 10.77.0.64/26"));
  }
  prefix.length = bits;
  if (slash != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + slash + 1, end, prefix.length);
    if (read.ec != std::errc() || read.ptr != end || prefix.length < 0 || prefix.length > bits) {
      return absl::InvalidArgumentError(Cat("`", text, "` has no prefix length of 1 to ", bits, " behind the slash"));
    }
    if (prefix.length == 0) {
      return absl::InvalidArgumentError(Cat("`", text, "` is everybody; name the peers, or take the link down"));
    }
  }
  std::array<unsigned char, 16> network{};
  for (int bit = 0; bit < prefix.length; ++bit) {
    const auto mask = static_cast<unsigned char>(0x80 >> (bit % 8));
    network[static_cast<size_t>(bit / 8)] |= prefix.bytes[static_cast<size_t>(bit / 8)] & mask;
  }
  std::array<char, INET6_ADDRSTRLEN> spelt{};
  ::inet_ntop(prefix.family, network.data(), spelt.data(), spelt.size());
  prefix.address = spelt.data();
  if (network != prefix.bytes) {
    return absl::InvalidArgumentError(
        Cat("`", text, "` has bits set behind its prefix; write ", prefix.address, "/", prefix.length));
  }
  return prefix;
}

// All of a list; refuses an empty one, one that is too long, and an entry that stands twice.
template <typename Texts>
Result<std::vector<NetworkPrefix>> ParseNetworkPrefixes(const Texts& texts) {
  std::vector<NetworkPrefix> prefixes;
  if (texts.empty()) return absl::InvalidArgumentError("no address is named; name one at least");
  if (texts.size() > kMostPrefixes) {
    return absl::InvalidArgumentError(Cat(texts.size(), " addresses, more than ", kMostPrefixes, "; name networks"));
  }
  for (const std::string& text : texts) {
    TRIODRILL_ASSIGN_OR_RETURN(NetworkPrefix prefix, ParseNetworkPrefix(text));
    for (const NetworkPrefix& other : prefixes) {
      if (prefix == other) return absl::InvalidArgumentError(Cat("`", text, "` is named twice; name each once"));
    }
    prefixes.push_back(std::move(prefix));
  }
  return prefixes;
}

}  // namespace triodrill
