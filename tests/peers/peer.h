// Programs of the distribution that the tests run: where they are, and ports for them.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace triodrill::testing {

inline constexpr char kPeers[] = TRIODRILL_SOURCE_DIR "/build/peers/";

// Where `./dev setup` unpacked the file, else where Debian's package has it: "usr/bin/prometheus".
inline std::string PeerFile(const std::string& path) {
  const std::string unpacked = absl::StrCat(kPeers, path);
  return access(unpacked.c_str(), R_OK) == 0 ? unpacked : absl::StrCat("/", path);
}
inline std::string PeerProgram(const std::string& name) { return PeerFile(absl::StrCat("usr/bin/", name)); }

// How it is run: what is installed as it is, what was unpacked with its data where it looks for them.
inline std::vector<std::string> PeerCommand(const std::string& name) {
  const std::string program = PeerProgram(name);
  if (!absl::StartsWith(program, kPeers)) return {program};
  return {TRIODRILL_UNPACKED, absl::StrCat(kPeers, "usr/share"), program};
}

// Ports of 127.0.0.1 that nobody listens on, all different: held until the last is chosen.
inline std::vector<int> FreePorts(size_t count) {
  std::vector<int> ports;
  std::vector<int> held;
  for (size_t i = 0; i < count; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    ports.push_back(ntohs(address.sin_port));
    held.push_back(fd);
  }
  for (const int fd : held) close(fd);
  return ports;
}

}  // namespace triodrill::testing
