// Reads from one HTTP server. GET is all that this type can say: there is no member through which a POST, PUT or DELETE
// could leave, so whoever watches with it changes nothing at the other end. Bounded in time and bytes; redirects are
// not followed, so that the token goes nowhere else. Owned by a watcher; Get is used on one thread at a time, Stop on
// any. A crash leaves nothing behind.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::watch {

class HttpReader {
 public:
  struct Options {
    std::string url;    // http://HOST:PORT or https://HOST:PORT, then perhaps the path before all others
    std::string token;  // "": none
    Nanos timeout = std::chrono::seconds(2);
    size_t most_bytes = size_t{32} << 20;
  };
  struct Answer {
    std::string body;
    Instant asked;  // from before the question left until its answer was there
  };

  static Result<std::unique_ptr<HttpReader>> Create(Options options, Clock& clock);
  ~HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;

  // `path` begins with "/". Unavailable for anything but a whole answer of status 200.
  Result<Answer> Get(const std::string& path);

  // Ends the Get that is under way; those after it fail.
  void Stop();

  const std::string& url() const { return options_.url; }

 private:
  struct Connection;
  HttpReader(Options options, std::unique_ptr<Connection> connection, std::string prefix, Clock& clock);

  const Options options_;
  const std::unique_ptr<Connection> connection_;
  const std::string prefix_;
  Clock& clock_;
  std::atomic<bool> stopped_{false};
};

// As it stands in a query: everything but letters, digits and -._~ becomes %XX.
std::string QueryEscaped(std::string_view text);

}  // namespace triodrill::watch
