#include "coordinator/watch/webhook_receiver.h"

#include <arpa/inet.h>

#include <atomic>

#include "absl/strings/numbers.h"
#include "httplib.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr size_t kThreads = 4;
constexpr time_t kSenderWithinS = 5;
constexpr int kTaken = 200;
constexpr int kNotTaken = 400;
constexpr int kFirstOrdinaryPort = 1024;

struct Place {
  std::string address;
  int port = 0;
};

Result<Place> ParsePlace(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  Place place;
  in_addr address{};
  if (colon == std::string::npos || !absl::SimpleAtoi(listen.substr(colon + 1), &place.port) || place.port < 0 ||
      place.port > 65535) {
    return absl::InvalidArgumentError(Cat("listen for webhooks on ", listen, ": write ADDRESS:PORT"));
  }
  place.address = listen.substr(0, colon);
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

struct WebhookReceiver::Server {
  httplib::Server http;
  std::atomic<bool> ended{false};
};

Result<std::unique_ptr<WebhookReceiver>> WebhookReceiver::Start(const std::string& listen, Clock& clock, Take take,
                                                                Refuse refuse) {
  TRIODRILL_ASSIGN_OR_RETURN(const Place place, ParsePlace(listen));
  std::unique_ptr<WebhookReceiver> receiver(
      new WebhookReceiver(std::make_unique<Server>(), clock, std::move(take), std::move(refuse)));
  httplib::Server& http = receiver->server_->http;
  http.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // Not the library's SO_REUSEPORT, with which two receivers would get every other webhook.
  http.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http.set_read_timeout(kSenderWithinS);
  http.set_write_timeout(kSenderWithinS);
  http.set_keep_alive_timeout(1);  // bounds how long the end of listening waits for an idle sender
  http.set_payload_max_length(kMostWebhookBytes);
  // Read by pieces: what a length promises, and what a compressed body unpacks to, are two things.
  http.Post("/alerts", [raw = receiver.get()](const httplib::Request& request, httplib::Response& response,
                                              const httplib::ContentReader& read) {
    std::string body;
    const bool whole = !request.is_multipart_form_data() && read([&](const char* bytes, size_t size) {
      if (body.size() + size > kMostWebhookBytes) return false;
      body.append(bytes, size);
      return true;
    });
    response.status = raw->Answer(whole ? &body : nullptr);
  });
  receiver->port_ = place.port == 0 ? http.bind_to_any_port(place.address.c_str()) : place.port;
  if (receiver->port_ < 0 || (place.port != 0 && !http.bind_to_port(place.address.c_str(), place.port))) {
    return ErrnoStatus("listen for webhooks on", listen);
  }
  receiver->where_ = Cat(place.address, ":", receiver->port_);
  std::atomic<bool>& ended = receiver->server_->ended;
  receiver->thread_ = std::jthread([&http, &ended] {
    http.listen_after_bind();
    ended = true;
  });
  // The library's stop() is lost on a server that does not run yet.
  while (!http.is_running() && !ended) std::this_thread::yield();
  return receiver;
}

WebhookReceiver::WebhookReceiver(std::unique_ptr<Server> server, Clock& clock, Take take, Refuse refuse)
    : server_(std::move(server)), clock_(clock), take_(std::move(take)), refuse_(std::move(refuse)) {}

WebhookReceiver::~WebhookReceiver() {
  server_->http.stop();
  if (thread_.joinable()) thread_.join();
}

int WebhookReceiver::Answer(const std::string* body) {
  const TimePoint received = clock_.Now();
  Result<Webhook> webhook = absl::InvalidArgumentError("read alerts: no whole body, or a too large one");
  if (body != nullptr) webhook = ParseWebhook(*body);
  const std::lock_guard lock(mutex_);
  if (!webhook.ok()) {
    refuse_(std::string(webhook.status().message()), ++refused_);
    return kNotTaken;
  }
  take_(*std::move(webhook), received);
  return kTaken;
}

}  // namespace triodrill::watch
