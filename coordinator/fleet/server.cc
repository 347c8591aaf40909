// Effects of the fleet: the gRPC server, its one completion queue and its one pump thread. Decisions are the sessions'.
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "coordinator/fleet/fleet.h"
#include "coordinator/fleet/session.h"
#include "coordinator/fleet/socket.h"
#include "coordinator/fleet/stream.h"
#include "coordinator/os/clock.h"
#include "triodrill/v1/fleet.grpc.pb.h"

namespace triodrill::fleet {
namespace {

constexpr int kMaxMessageBytes = 1 << 20;
// How long agents have to read their Goodbye.
constexpr auto kPatienceAtTheEnd = std::chrono::seconds(1);

class Server final : public Fleet {
 public:
  Server(Options options, Clock& clock, std::function<void(AgentEvent)> sink)
      : options_(std::move(options)), clock_(clock), sink_(std::move(sink)) {}
  ~Server() override;

  Status Start();
  Status Send(const std::string& node, v1::CoordinatorSays what) override;
  Result<OffsetBounds> Offset(const std::string& node) const override;
  Status Measure(const std::string& node) override;
  std::vector<std::string> Connected() const override;

 private:
  using Streams = std::list<std::unique_ptr<Stream>>;
  using Events = std::vector<AgentEvent>;

  void Pump();
  gpr_timespec Deadline() const;
  // All below are called with the lock held.
  void AcceptNext();
  void Handle(const Stream::Tag& tag, bool ok, Events& events);
  void OnRead(Stream& stream, bool ok, Events& events);
  void OnTime(Events& events);
  std::string RefuseHello(const v1::Hello& hello) const;
  void Perform(Stream& stream, Session::Outcome outcome, Events& events);
  void GiveUp(Stream& stream, const std::string& why, Events& events);
  void Forget(const Stream* stream);
  Result<Stream*> Find(const std::string& node) const;

  const Options options_;
  Clock& clock_;
  const std::function<void(AgentEvent)> sink_;
  v1::Fleet::AsyncService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::thread pump_;

  mutable std::mutex mutex_;
  Streams streams_;
  std::map<std::string, Stream*> by_node_;  // those that said a good Hello and are not ending
  bool closing_ = false;
};

Status Server::Start() {
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort("unix:" + options_.socket_path, grpc::InsecureServerCredentials(), &bound);
  builder.AddChannelArgument("grpc.http2.bdp_probe", 0);  // halves the cost of an exchange
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.RegisterService(&service_);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || bound == 0) {
    return absl::UnavailableError("listen on " + options_.socket_path + ": gRPC could not bind it");
  }
  if (chmod(options_.socket_path.c_str(), 0600) != 0) return ErrnoStatus("chmod", options_.socket_path);
  {
    const std::lock_guard lock(mutex_);
    AcceptNext();
  }
  pump_ = std::thread([this] { Pump(); });
  return Ok();
}

Server::~Server() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (const auto& [node, stream] : by_node_) {
      v1::CoordinatorSays goodbye;
      goodbye.mutable_goodbye();
      stream->Say(std::move(goodbye));
      stream->End(grpc::Status::OK);
    }
    by_node_.clear();
  }
  if (server_ != nullptr) server_->Shutdown(coordinator::WallDeadline(kPatienceAtTheEnd));
  {
    // The pump may still have completions to handle; an agent that came back in the last moment is among them.
    const std::lock_guard lock(mutex_);
    for (const auto& stream : streams_) stream->Close();
  }
  if (queue_ != nullptr) queue_->Shutdown();
  if (pump_.joinable()) {
    pump_.join();
    unlink(options_.socket_path.c_str());
    return;
  }
  // Start failed: what lies there may be another's.
  void* tag = nullptr;
  bool ok = false;
  while (queue_ != nullptr && queue_->Next(&tag, &ok)) {
  }
}

gpr_timespec Server::Deadline() const {
  const std::lock_guard lock(mutex_);
  TimePoint next = clock_.Now() + std::chrono::hours(1);
  for (const auto& stream : streams_) {
    if (stream->begun() && !stream->ending()) next = std::min(next, stream->session().NextDeadline());
  }
  const Nanos wait = std::max(Nanos(0), Nanos(next - clock_.Now()));
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(wait.count(), GPR_TIMESPAN));
}

void Server::Pump() {
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    const auto status = queue_->AsyncNext(&tag, &ok, Deadline());
    if (status == grpc::CompletionQueue::SHUTDOWN) return;
    Events events;
    {
      const std::lock_guard lock(mutex_);
      if (status == grpc::CompletionQueue::GOT_EVENT) Handle(*static_cast<Stream::Tag*>(tag), ok, events);
      OnTime(events);
    }
    for (AgentEvent& event : events) sink_(std::move(event));
  }
}

void Server::AcceptNext() {
  if (!closing_) streams_.push_back(std::make_unique<Stream>(service_, *queue_, clock_));
}

void Server::Handle(const Stream::Tag& tag, bool ok, Events& events) {
  Stream& stream = *tag.stream;
  stream.Completed(tag.operation, ok);
  if (tag.operation == Stream::Operation::kAccept && ok) {
    stream.Begin(options_);
    AcceptNext();
    // No more strangers at one time than agents could come.
    if (streams_.size() > 2 * options_.nodes.size() + 8) {
      stream.Cancel({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many streams"});
    } else {
      stream.Read();
    }
  } else if (tag.operation == Stream::Operation::kRead) {
    OnRead(stream, ok, events);
  }
  if (stream.Over()) Forget(&stream);
}

void Server::OnRead(Stream& stream, bool ok, Events& events) {
  if (stream.ending()) {
    if (ok) stream.Read();  // until it fails: that is how the end of the other side is seen
    return;
  }
  if (!ok) {
    GiveUp(stream, "the stream broke", events);
    return;
  }
  const TimePoint now = clock_.Now();
  v1::AgentSays said = stream.TakeRead();
  if (said.has_hello() && stream.session().node().empty()) {
    if (const std::string refusal = RefuseHello(said.hello()); !refusal.empty()) {
      stream.End({grpc::StatusCode::PERMISSION_DENIED, refusal});
      stream.Read();
      return;
    }
    by_node_[said.hello().node()] = &stream;
  }
  Perform(stream, stream.session().OnSaid(std::move(said), now), events);
  stream.Read();
}

std::string Server::RefuseHello(const v1::Hello& hello) const {
  if (std::find(options_.nodes.begin(), options_.nodes.end(), hello.node()) == options_.nodes.end()) {
    return "node '" + hello.node() + "' is not of this partition";
  }
  if (by_node_.contains(hello.node())) return "an agent of node '" + hello.node() + "' is attached already";
  return "";
}

void Server::OnTime(Events& events) {
  if (closing_) return;
  const TimePoint now = clock_.Now();
  for (const auto& stream : streams_) {
    if (!stream->begun() || stream->ending() || stream->session().NextDeadline() > now) continue;
    Perform(*stream, stream->session().OnTime(now), events);
  }
}

void Server::Perform(Stream& stream, Session::Outcome outcome, Events& events) {
  std::move(outcome.events.begin(), outcome.events.end(), std::back_inserter(events));
  for (v1::CoordinatorSays& what : outcome.say) {
    if (!stream.Say(std::move(what))) outcome.close = "the agent does not read";
  }
  if (!outcome.close.empty()) GiveUp(stream, outcome.close, events);
}

void Server::GiveUp(Stream& stream, const std::string& why, Events& events) {
  if (auto lost = stream.session().Lost(why, clock_.Now())) events.push_back(*std::move(lost));
  const auto found = by_node_.find(stream.session().node());
  if (found != by_node_.end() && found->second == &stream) by_node_.erase(found);
  stream.Cancel({grpc::StatusCode::ABORTED, why});
}

void Server::Forget(const Stream* stream) {
  std::erase_if(streams_, [stream](const std::unique_ptr<Stream>& one) { return one.get() == stream; });
}

Result<Stream*> Server::Find(const std::string& node) const {
  const auto found = by_node_.find(node);
  if (found == by_node_.end() || !found->second->session().connected()) {
    return absl::UnavailableError("speak to node " + node + ": its agent is not connected");
  }
  return found->second;
}

Status Server::Send(const std::string& node, v1::CoordinatorSays what) {
  const std::lock_guard lock(mutex_);
  TRIODRILL_ASSIGN_OR_RETURN(Stream * stream, Find(node));
  if (stream->Say(std::move(what))) return Ok();
  return absl::ResourceExhaustedError("speak to node " + node + ": its agent does not read");
}

Result<OffsetBounds> Server::Offset(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  TRIODRILL_ASSIGN_OR_RETURN(Stream * stream, Find(node));
  return stream->session().Offset(clock_.Now()).value();
}

Status Server::Measure(const std::string& node) {
  const std::lock_guard lock(mutex_);
  TRIODRILL_ASSIGN_OR_RETURN(Stream * stream, Find(node));
  for (v1::CoordinatorSays& probe : stream->session().Measure().say) {
    if (!stream->Say(std::move(probe))) {
      return absl::ResourceExhaustedError("measure the clock of node " + node + ": its agent does not read");
    }
  }
  return Ok();
}

std::vector<std::string> Server::Connected() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> nodes;
  for (const auto& [node, stream] : by_node_) {
    if (stream->session().connected()) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

Result<std::unique_ptr<Fleet>> Fleet::Listen(Options options, Clock& clock, std::function<void(AgentEvent)> sink) {
  if (options.lease <= Nanos(0)) return absl::InvalidArgumentError("listen for agents: the lease must be above zero");
  if (options.nodes.empty()) return absl::InvalidArgumentError("listen for agents: no node may attach");
  if (options.exchanges < 1 || options.measure_every <= Nanos(0)) {
    return absl::InvalidArgumentError("listen for agents: at least one clock exchange, and time between two");
  }
  TRIODRILL_RETURN_IF_ERROR(ClearSocketPath(options.socket_path));
  auto server = std::make_unique<Server>(std::move(options), clock, std::move(sink));
  TRIODRILL_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace triodrill::fleet
