// Listens for Alertmanager's webhook (version 4) and hands on each firing the first time it is told. The only thing it
// ever says is the status of its answer. It listens where it is told and nowhere else, on no port below 1024; a body
// that is not a whole webhook is refused with 400 and counts as nothing. Owned by MonitoringWatch; its threads are the
// library's. A crash leaves nothing behind: Alertmanager sends what got no answer again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/watch/firing.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::watch {

class WebhookReceiver {
 public:
  // On one of the receiver's threads, one at a time: a whole webhook, and when its last byte was there.
  using Take = std::function<void(Webhook, TimePoint received)>;
  // Likewise: what was refused, and why. `count` from 1.
  using Refuse = std::function<void(const std::string& why, int64_t count)>;

  // `listen` is ADDRESS:PORT, IPv4; port 0 is any (tests). Fails if it cannot be listened on.
  static Result<std::unique_ptr<WebhookReceiver>> Start(const std::string& listen, Clock& clock, Take take,
                                                        Refuse refuse);
  ~WebhookReceiver();  // ends the listening, waits for what is under way
  WebhookReceiver(const WebhookReceiver&) = delete;
  WebhookReceiver& operator=(const WebhookReceiver&) = delete;

  const std::string& where() const { return where_; }  // ADDRESS:PORT
  int port() const { return port_; }

 private:
  struct Server;
  WebhookReceiver(std::unique_ptr<Server> server, Clock& clock, Take take, Refuse refuse);
  int Answer(const std::string* body);  // null: it did not come whole

  const std::unique_ptr<Server> server_;
  Clock& clock_;
  const Take take_;
  const Refuse refuse_;
  std::string where_;
  int port_ = 0;
  std::mutex mutex_;
  int64_t refused_ = 0;  // under mutex_
  std::jthread thread_;
};

}  // namespace triodrill::watch
