#include "coordinator/watch/webhook_receiver.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "coordinator/os/child_process.h"
#include "coordinator/watch/webhook_frames.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr int kFirstOrdinaryPort = 1024;
constexpr std::chrono::seconds kStartsWithin{30};
constexpr std::chrono::seconds kEndsWithin{5};

struct Place {
  std::string address;
  int port = 0;
};

// The port behind the last colon.
bool ParsePort(const std::string& where, int& port) {
  const size_t colon = where.rfind(':');
  return colon != std::string::npos && absl::SimpleAtoi(where.substr(colon + 1), &port) && port >= 0 && port <= 65535;
}

Result<Place> ParsePlace(const std::string& listen) {
  Place place;
  in_addr address{};
  if (!ParsePort(listen, place.port)) {
    return absl::InvalidArgumentError(Cat("listen for webhooks on ", listen, ": write ADDRESS:PORT"));
  }
  place.address = listen.substr(0, listen.rfind(':'));
  if (inet_pton(AF_INET, place.address.c_str(), &address) != 1) {
    return absl::InvalidArgumentError(Cat("listen for webhooks on ", listen, ": the address is no IPv4 address"));
  }
  if (place.port != 0 && place.port < kFirstOrdinaryPort) {
    return absl::InvalidArgumentError(
        Cat("listen for webhooks on ", listen, ": ports below 1024 are root's; use another"));
  }
  return place;
}

}  // namespace

Result<std::unique_ptr<WebhookReceiver>> WebhookReceiver::Start(const std::string& program, const std::string& listen,
                                                                Clock& clock, Sink sink) {
  TRIODRILL_ASSIGN_OR_RETURN(const Place place, ParsePlace(listen));
  std::unique_ptr<WebhookReceiver> receiver(new WebhookReceiver(clock, std::move(sink)));
  TRIODRILL_RETURN_IF_ERROR(receiver->Begin(program, place.address, place.port));
  return receiver;
}

Status WebhookReceiver::Begin(const std::string& program, const std::string& address, int port) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus("socketpair for", program);
  fd_ = ends[0];
  const Result<pid_t> child = coordinator::Spawn({program, address, Cat(port)}, ends[1], "/dev/null");
  close(ends[1]);
  TRIODRILL_ASSIGN_OR_RETURN(process_, child);
  if (!coordinator::AwaitReadable(fd_, clock_, clock_.Now() + kStartsWithin)) {
    return absl::UnavailableError(Cat("listen for webhooks: ", program, " says nothing"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(const Frame first, ReceiveFrame(fd_));
  if (first.kind == FrameKind::kFailed) return absl::UnavailableError(first.bytes);
  if (first.kind != FrameKind::kListening || !ParsePort(first.bytes, port_)) {
    return absl::UnavailableError(Cat("listen for webhooks: ", program, " does not say where it listens"));
  }
  where_ = first.bytes;
  thread_ = std::jthread([this] { Read(); });
  return Ok();
}

WebhookReceiver::~WebhookReceiver() {
  ending_ = true;
  if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
  if (fd_ >= 0) close(fd_);
  if (process_ > 0) coordinator::AwaitExit(process_, clock_, clock_.Now() + kEndsWithin).IgnoreError();
}

void WebhookReceiver::Read() {
  while (true) {
    const Result<Frame> frame = ReceiveFrame(fd_);
    const TimePoint received = clock_.Now();
    if (!frame.ok()) {
      if (!ending_) sink_.lost(std::string(frame.status().message()));
      return;
    }
    const char answer = Take(frame->kind == FrameKind::kBody ? &frame->bytes : nullptr, received) ? kTaken : kNotTaken;
    // A listener that is gone shows at the next frame.
    static_cast<void>(send(fd_, &answer, 1, MSG_NOSIGNAL));
  }
}

bool WebhookReceiver::Take(const std::string* body, TimePoint received) {
  Result<Webhook> webhook = absl::InvalidArgumentError("read alerts: no whole body, or a too large one");
  if (body != nullptr) webhook = ParseWebhook(*body);
  if (!webhook.ok()) {
    sink_.refuse(std::string(webhook.status().message()), ++refused_);
    return false;
  }
  sink_.take(*std::move(webhook), received);
  return true;
}

}  // namespace triodrill::watch
