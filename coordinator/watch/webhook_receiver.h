// Listens for Alertmanager's webhook (version 4) and hands on each firing the first time it is told. The only thing it
// ever says is the status of its answer. It listens where it is told and nowhere else, on no port below 1024; a body
// that is not a whole webhook is refused with 400 and counts as nothing.
//
// A coordinator may be root, and nothing of ours listens as root: the socket is held by a process of its own,
// triodrill-webhook, which is `nobody` before the first connection and passes on bodies up to a bound; they are read
// here. Owned by MonitoringWatch, with one thread. A crash leaves nothing behind: the process ends with its
// coordinator, and Alertmanager sends what got no answer again.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "coordinator/watch/firing.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::watch {

class WebhookReceiver {
 public:
  // All on the receiver's thread.
  struct Sink {
    std::function<void(Webhook, TimePoint received)> take;  // a whole webhook, and when its last byte was there
    std::function<void(const std::string& why, int64_t count)> refuse;  // what was refused; `count` from 1
    std::function<void(const std::string& why)> lost;  // nothing is listened for any more; at most once
  };

  // `program` is triodrill-webhook, `listen` is ADDRESS:PORT, IPv4; port 0 is any (tests). Fails if it cannot be
  // listened on.
  static Result<std::unique_ptr<WebhookReceiver>> Start(const std::string& program, const std::string& listen,
                                                        Clock& clock, Sink sink);
  ~WebhookReceiver();  // ends the process and waits for it
  WebhookReceiver(const WebhookReceiver&) = delete;
  WebhookReceiver& operator=(const WebhookReceiver&) = delete;

  const std::string& where() const { return where_; }  // ADDRESS:PORT
  int port() const { return port_; }
  pid_t process() const { return process_; }

 private:
  WebhookReceiver(Clock& clock, Sink sink) : clock_(clock), sink_(std::move(sink)) {}
  Status Begin(const std::string& program, const std::string& address, int port);
  void Read();
  bool Take(const std::string* body, TimePoint received);  // null: it did not come whole

  Clock& clock_;
  const Sink sink_;
  std::string where_;
  int port_ = 0;
  pid_t process_ = -1;
  int fd_ = -1;
  std::atomic<bool> ending_{false};
  int64_t refused_ = 0;  // the thread's
  std::jthread thread_;
};

}  // namespace triodrill::watch
