#include "drills/shadow/pipeline/node_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "absl/cleanup/cleanup.h"
#include "drills/shadow/system_clock.h"
#include "drills/shadow/whole_file.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {

InterfaceBytes ParseInterfaceBytes(std::string_view proc_net_dev, std::string_view interface) {
  std::istringstream lines{std::string(proc_net_dev)};
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    const size_t name = line.find_first_not_of(' ');
    if (colon == std::string::npos || line.substr(name, colon - name) != interface) continue;
    std::istringstream values(line.substr(colon + 1));
    InterfaceBytes bytes;
    uint64_t skipped = 0;
    values >> bytes.received;
    for (int i = 0; i < 7; ++i) values >> skipped;
    values >> bytes.sent;
    return bytes;
  }
  return {};
}

InterfaceBytes ReadInterfaceBytes(std::string_view interface) {
  return ParseInterfaceBytes(ReadWholeFile("/proc/self/net/dev").value_or(""), interface);
}

std::string InterfaceOf(const std::string& address) {
  in_addr wanted{};
  ifaddrs* all = nullptr;
  if (inet_pton(AF_INET, address.c_str(), &wanted) != 1 || getifaddrs(&all) != 0) return "";
  const absl::Cleanup free_all = [all] { freeifaddrs(all); };
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in found{};
    std::memcpy(&found, one->ifa_addr, sizeof found);
    if (found.sin_addr.s_addr == wanted.s_addr) return one->ifa_name;
  }
  return "";
}

int64_t AgeOf(const std::string& file) {
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0) return -1;
  const int64_t written = int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  return std::max<int64_t>(0, (WallNanos() - written) / 1'000'000);
}

Result<std::pair<OwnedFd, int>> ListenForLinks(const std::string& address) {
  OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return ErrnoStatus("socket for link checks on", address);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  if (inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1) {
    return absl::InvalidArgumentError(Cat("--address ", address, ": not an IPv4 address"));
  }
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    return ErrnoStatus("bind for link checks to", address);
  }
  if (listen(listener.get(), 64) != 0) return ErrnoStatus("listen for link checks on", address);
  socklen_t size = sizeof at;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return ErrnoStatus("name of the link check's socket on", address);
  }
  return std::make_pair(std::move(listener), static_cast<int>(ntohs(at.sin_port)));
}

std::optional<XidWord> ParseXidWord(std::string_view line) {
  constexpr std::string_view kBegin = "NVRM: Xid (PCI:";
  const size_t at = line.find(kBegin);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string rest(line.substr(at + kBegin.size()));
  XidWord word;
  char comma = 0;
  // Of a form that cannot overflow what it is read into: hexadecimal fields of at most eight digits, and a number.
  if (std::sscanf(rest.c_str(), "%8x:%8x:%8x): %5d%c", &word.domain, &word.bus, &word.device, &word.xid, &comma) != 5 ||
      comma != ',') {
    return std::nullopt;
  }
  return word;
}

bool IsAt(const XidWord& word, const char* bus_id) {
  XidWord gpu;
  return std::sscanf(bus_id, "%8x:%8x:%8x", &gpu.domain, &gpu.bus, &gpu.device) == 3 && gpu.domain == word.domain &&
         gpu.bus == word.bus && gpu.device == word.device;
}

std::string OwnDirectory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

}  // namespace triodrill::shadow::pipeline
