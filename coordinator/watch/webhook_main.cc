// triodrill-webhook ADDRESS PORT: listens for webhooks on behalf of a coordinator, whose end of a pair of sockets is
// standard output. It never listens as root: it becomes `nobody` before the first connection is taken, and ends with
// status 1 if it cannot. It knows no webhook, only HTTP and bodies up to a bound; what is in them the coordinator says.
// Threads: the library's, and one that ends the process once the coordinator's end is closed, however it ended. Keeps
// nothing, so a crash leaves nothing.
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "absl/strings/numbers.h"
#include "coordinator/watch/firing.h"
#include "coordinator/watch/webhook_frames.h"
#include "httplib.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr int kCoordinator = STDOUT_FILENO;
constexpr size_t kThreads = 4;
constexpr time_t kSenderWithinS = 5;
constexpr int kAnswerTaken = 200;
constexpr int kAnswerNotTaken = 400;
constexpr int kUsage = 64;
constexpr id_t kNobody = 65534;

Status DropRoot() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus("give up new privileges in", "triodrill-webhook");
  if (geteuid() != 0) return Ok();
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0 || setuid(0) == 0) {
    return ErrnoStatus("become nobody before listening in", "triodrill-webhook");
  }
  return Ok();
}

// One request at a time goes through to the coordinator.
class Coordinator {
 public:
  int Ask(const Frame& frame) {
    const std::lock_guard lock(mutex_);
    char answer = kNotTaken;
    if (!SendFrame(kCoordinator, frame).ok() || recv(kCoordinator, &answer, 1, 0) != 1) return kAnswerNotTaken;
    return answer == kTaken ? kAnswerTaken : kAnswerNotTaken;
  }

 private:
  std::mutex mutex_;
};

void EndWithCoordinator() {
  pollfd look{kCoordinator, POLLRDHUP, 0};
  while (poll(&look, 1, -1) < 0 && errno == EINTR) continue;
  _exit(0);
}

void Route(httplib::Server& http, Coordinator& coordinator) {
  http.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // Not the library's SO_REUSEPORT, with which two receivers would get every other webhook.
  http.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http.set_read_timeout(kSenderWithinS);
  http.set_write_timeout(kSenderWithinS);
  http.set_payload_max_length(kMostWebhookBytes);
  // Read by pieces: what a length promises, and what a compressed body unpacks to, are two things.
  http.Post("/alerts", [&coordinator](const httplib::Request& request, httplib::Response& response,
                                      const httplib::ContentReader& read) {
    Frame frame{FrameKind::kBody, ""};
    const bool whole = !request.is_multipart_form_data() && read([&](const char* bytes, size_t size) {
      if (frame.bytes.size() + size > kMostWebhookBytes) return false;
      frame.bytes.append(bytes, size);
      return true;
    });
    response.status = coordinator.Ask(whole ? frame : Frame{FrameKind::kBroken, ""});
  });
}

// Bound while still what we were started as, so that a failure says what it is about.
Status Bind(httplib::Server& http, const std::string& address, int& port) {
  errno = 0;
  if (port == 0) {
    port = http.bind_to_any_port(address.c_str());
    if (port > 0) return Ok();
  } else if (http.bind_to_port(address.c_str(), port)) {
    return Ok();
  }
  return ErrnoStatus("listen for webhooks on", Cat(address, ":", port));
}

int Main(int argc, char** argv) {
  int port = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &port) || port < 0 || port > 65535) {
    std::fputs("usage: triodrill-webhook ADDRESS PORT; `triodrill run` starts it\n", stderr);
    return kUsage;
  }
  httplib::Server http;
  Coordinator coordinator;
  Route(http, coordinator);
  Status ready = Bind(http, argv[1], port);
  if (ready.ok()) ready = DropRoot();
  if (!ready.ok()) {
    SendFrame(kCoordinator, {FrameKind::kFailed, std::string(ready.message())}).IgnoreError();
    return EXIT_FAILURE;
  }
  std::thread(EndWithCoordinator).detach();
  if (!SendFrame(kCoordinator, {FrameKind::kListening, Cat(argv[1], ":", port)}).ok()) return EXIT_FAILURE;
  http.listen_after_bind();
  return EXIT_FAILURE;  // it ends by the coordinator's end alone
}

}  // namespace
}  // namespace triodrill::watch

int main(int argc, char** argv) { return triodrill::watch::Main(argc, argv); }
