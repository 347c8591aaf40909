#include "coordinator/engines/shadow_client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "coordinator/os/child_process.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "triodrill/text.h"

namespace triodrill::engines {
namespace {

using nlohmann::json;

constexpr size_t kLongestReply = 16 * 1024 * 1024;

json Parse(const std::string& text) { return json::parse(text, nullptr, /*allow_exceptions=*/false); }

int Number(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int>() : 0;
}
bool Flag(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}
std::string Text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

ProgramStatus ProgramFrom(const json& node, const char* name) {
  ProgramStatus program;
  const auto found = node.find(name);
  if (found == node.end() || !found->is_object()) return program;
  program.running = Flag(*found, "running");
  program.pid = Number(*found, "pid");
  program.starts = Number(*found, "starts");
  if (found->contains("exit_code")) program.exit_code = Number(*found, "exit_code");
  return program;
}

}  // namespace

Result<std::string> Ask(const std::string& socket_path, const std::string& request, Clock& clock, Nanos at_most) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(Cat("connect to ", socket_path, ": the path is too long for a Unix socket"));
  }
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoStatus("socket for", socket_path);
  const absl::Cleanup close_fd = [fd] { close(fd); };
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return absl::NotFoundError(Cat("nobody listens on ", socket_path));
    return ErrnoStatus("connect to", socket_path);
  }
  const std::string line = request + "\n";
  if (send(fd, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return ErrnoStatus("send to", socket_path);
  const TimePoint deadline = clock.Now() + at_most;
  std::string reply;
  char bytes[16384];
  while (coordinator::AwaitReadable(fd, clock, deadline)) {
    const ssize_t got = recv(fd, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || reply.size() > kLongestReply)
      return absl::UnavailableError(Cat("the shadow partition closed ", socket_path, " without an answer"));
    reply.append(bytes, static_cast<size_t>(got));
    if (reply.back() == '\n') return reply;
  }
  return absl::UnavailableError(Cat("no answer from the shadow partition on ", socket_path, " to ", request));
}

std::string RequestLine(const std::string& verb, const std::string& node, bool stay_down) {
  json request = {{"do", verb}};
  if (!node.empty()) request["node"] = node;
  if (stay_down) request["stay_down"] = true;
  return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

Status CheckReply(const std::string& reply) {
  const json value = Parse(reply);
  if (!value.is_object()) return absl::InternalError(Cat("the shadow partition answered what is not JSON: ", reply));
  return Flag(value, "ok") ? Ok() : absl::UnavailableError(Cat("shadow partition: ", Text(value, "error")));
}

Result<EngineStatus> ParseStatus(const std::string& reply) {
  TRIODRILL_RETURN_IF_ERROR(CheckReply(reply));
  const json value = Parse(reply);
  EngineStatus status;
  status.up = true;
  status.supervisor_pid = Number(value, "supervisor");
  status.user_namespace = Flag(value, "user_namespace");
  const auto nodes = value.find("nodes");
  const auto spec = value.find("spec");
  if (nodes == value.end() || !nodes->is_array() || spec == value.end()) {
    return absl::InternalError("the shadow partition's status lacks its nodes or its specification");
  }
  const auto parsed = google::protobuf::util::JsonStringToMessage(spec->dump(), &status.spec);
  if (!parsed.ok()) return absl::InternalError(Cat("the shadow partition's status: ", std::string(parsed.message())));
  for (const json& node : *nodes) {
    status.nodes.push_back({.name = Text(node, "name"),
                            .address = Text(node, "address"),
                            .lost = Flag(node, "lost"),
                            .init_pid = Number(node, "init"),
                            .agent = ProgramFrom(node, "agent"),
                            .workload = ProgramFrom(node, "workload")});
  }
  return status;
}

}  // namespace triodrill::engines
