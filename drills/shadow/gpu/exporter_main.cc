// triodrill-gpu-exporter: the shadow GPUs of one node under the names that dcgm-exporter gives to real ones, for
// Prometheus. Listens inside of its node only: on a loopback address of the node's own network namespace. It keeps
// nothing: every answer is read from the state, and a signal may end it at any time.
#include <arpa/inet.h>
#include <unistd.h>

#include <iostream>

#include "CLI/CLI.hpp"
#include "drills/shadow/gpu/metrics.h"
#include "drills/shadow/gpu/state_file.h"
#include "httplib.h"
#include "triodrill/exit_code.h"
#include "triodrill/text.h"

namespace triodrill::shadow::gpu {
namespace {

constexpr size_t kThreads = 2;
constexpr time_t kClientWithinS = 5;

struct Arguments {
  std::string state;
  std::string listen = "127.0.0.1:9400";
  std::string host;
};

struct Place {
  std::string address;
  int port = 0;  // 0: any
};

Result<Place> ParseListen(const std::string& text) {
  const size_t colon = text.rfind(':');
  Place place;
  in_addr address{};
  try {
    size_t used = 0;
    if (colon == std::string::npos) throw std::invalid_argument("port");
    place.address = text.substr(0, colon);
    place.port = std::stoi(text.substr(colon + 1), &used);
    if (used != text.size() - colon - 1 || place.port < 0 || place.port > 65535) throw std::invalid_argument("port");
  } catch (const std::exception&) {
    return absl::InvalidArgumentError(Cat("--listen ", text, ": wants ADDRESS:PORT"));
  }
  if (inet_pton(AF_INET, place.address.c_str(), &address) != 1 || (ntohl(address.s_addr) >> 24) != IN_LOOPBACKNET) {
    return absl::InvalidArgumentError(Cat("--listen ", text, ": only addresses of 127.0.0.0/8 may be listened on"));
  }
  return place;
}

std::string OwnName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

Status Serve(const Arguments& arguments) {
  TRIODRILL_ASSIGN_OR_RETURN(const Place place, ParseListen(arguments.listen));
  TRIODRILL_ASSIGN_OR_RETURN(const MappedState state, MappedState::Open(arguments.state, false));
  const std::string host = arguments.host.empty() ? OwnName() : arguments.host;
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // Not the library's SO_REUSEPORT, with which two exporters would answer in turn on one port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_read_timeout(kClientWithinS);
  server.set_write_timeout(kClientWithinS);
  server.set_keep_alive_timeout(kClientWithinS);
  server.Get("/metrics", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(MetricsText(ReadAll(*state), host), kMetricsType);
  });
  const int port = place.port == 0 ? server.bind_to_any_port(place.address.c_str()) : place.port;
  if (port < 0 || (place.port != 0 && !server.bind_to_port(place.address.c_str(), place.port))) {
    return ErrnoStatus("listen on", arguments.listen);
  }
  std::cout << Cat("listening on ", place.address, ":", port, "\n") << std::flush;
  return server.listen_after_bind() ? Ok() : ErrnoStatus("serve on", arguments.listen);
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Shows a node's shadow GPUs to Prometheus, under DCGM's names, at /metrics.");
  app.set_version_flag("--version", TRIODRILL_VERSION);
  app.add_option("--state", arguments.state, "State file")->required();
  app.add_option("--listen", arguments.listen, "ADDRESS:PORT; port 0: any, which is printed");
  app.add_option("--hostname", arguments.host, "For the label Hostname; the machine's own if not given");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  const Status status = Serve(arguments);
  if (status.ok()) return 0;
  std::cerr << Cat("triodrill-gpu-exporter: error: ", std::string(status.message()), "\n");
  if (absl::IsInvalidArgument(status)) return static_cast<int>(ExitCode::kUsage);
  return static_cast<int>(absl::IsDataLoss(status) || absl::IsNotFound(status) ? ExitCode::kInvalidFile
                                                                               : ExitCode::kUnreachable);
}

}  // namespace
}  // namespace triodrill::shadow::gpu

int main(int argc, char** argv) { return triodrill::shadow::gpu::Main(argc, argv); }
