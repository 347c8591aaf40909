#include "coordinator/watch/http_reader.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "httplib.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

struct Url {
  std::string server;  // scheme://host:port
  std::string prefix;  // "" or /path
};

Result<Url> Split(const std::string& url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos || (url.substr(0, scheme) != "http" && url.substr(0, scheme) != "https")) {
    return absl::InvalidArgumentError(Cat("read from ", url, ": write http://HOST:PORT or https://HOST:PORT"));
  }
  const size_t slash = url.find('/', scheme + 3);
  Url parts{url.substr(0, slash), slash == std::string::npos ? "" : url.substr(slash)};
  while (!parts.prefix.empty() && parts.prefix.back() == '/') parts.prefix.pop_back();
  return parts;
}

}  // namespace

struct HttpReader::Connection {
  explicit Connection(const std::string& server) : client(server) {}
  httplib::Client client;
};

Result<std::unique_ptr<HttpReader>> HttpReader::Create(Options options, Clock& clock) {
  TRIODRILL_ASSIGN_OR_RETURN(Url url, Split(options.url));
  auto connection = std::make_unique<Connection>(url.server);
  httplib::Client& client = connection->client;
  if (!client.is_valid())
    return absl::InvalidArgumentError(Cat("read from ", options.url, ": no such kind of address"));
  client.set_connection_timeout(options.timeout);
  client.set_read_timeout(options.timeout);
  client.set_write_timeout(options.timeout);
  client.set_follow_location(false);
  client.set_keep_alive(false);
  return std::unique_ptr<HttpReader>(
      new HttpReader(std::move(options), std::move(connection), std::move(url.prefix), clock));
}

HttpReader::HttpReader(Options options, std::unique_ptr<Connection> connection, std::string prefix, Clock& clock)
    : options_(std::move(options)), connection_(std::move(connection)), prefix_(std::move(prefix)), clock_(clock) {}

HttpReader::~HttpReader() = default;

Result<HttpReader::Answer> HttpReader::Get(const std::string& path) {
  const auto failed = [&](const std::string& why) {
    return absl::UnavailableError(Cat("read ", options_.url, path.substr(0, path.find('?')), ": ", why));
  };
  httplib::Headers headers = {{"Accept", "application/json"}};
  if (!options_.token.empty()) headers.emplace("Authorization", Cat("Bearer ", options_.token));
  Answer answer;
  const char* given_up = nullptr;
  answer.asked.earliest = clock_.Now();
  if (stopped_) return failed("given up");
  // A server that sends a byte now and then would never run into the time-out of a single read.
  const httplib::Result result = connection_->client.Get(prefix_ + path, headers, [&](const char* bytes, size_t size) {
    if (answer.body.size() + size > options_.most_bytes) given_up = "its answer is too large";
    if (clock_.Now() - answer.asked.earliest > options_.timeout) given_up = "its answer takes too long";
    if (stopped_) given_up = "given up";
    if (given_up != nullptr) return false;
    answer.body.append(bytes, size);
    return true;
  });
  answer.asked.latest = clock_.Now();
  if (given_up != nullptr) return failed(given_up);
  if (!result) return failed(Cat("no whole answer (", httplib::to_string(result.error()), ")"));
  if (result->status != 200) return failed(Cat("it answered with status ", result->status));
  return answer;
}

void HttpReader::Stop() {
  stopped_ = true;
  connection_->client.stop();
}

std::string QueryEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain) escaped.push_back(c);
    if (!plain) escaped += absl::StrFormat("%%%02X", static_cast<unsigned char>(c));
  }
  return escaped;
}

}  // namespace triodrill::watch
