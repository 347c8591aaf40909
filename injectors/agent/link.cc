#include "injectors/agent/link.h"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "triodrill/v1/fleet.grpc.pb.h"

namespace triodrill::agent {
namespace {

constexpr int kMaxMessageBytes = 1 << 20;
constexpr size_t kMostQueued = 4096;
constexpr Nanos kFirstPause = std::chrono::milliseconds(50);
constexpr Nanos kLongestPause = std::chrono::seconds(1);
constexpr Nanos kPatienceAtTheEnd = std::chrono::seconds(1);

enum class Operation : intptr_t { kStart = 1, kRead, kWrite, kFinish };
// A name, never followed.
void* TagOf(Operation operation) {
  return reinterpret_cast<void*>(operation);  // NOLINT(performance-no-int-to-ptr)
}

// One call. There is at most one at a time, so its tags need not say which.
struct Call {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::AgentSays, v1::CoordinatorSays>> io;
  v1::CoordinatorSays incoming;
  grpc::Status status;
  std::deque<v1::AgentSays> queue;
  bool up = false;
  bool greeted = false;  // Hello was said
  bool reading = false;
  bool writing = false;
  bool said_all = false;
  bool finishing = false;
};

class GrpcLink final : public Link {
 public:
  GrpcLink(const std::string& target, Clock& clock, Listener listener);
  ~GrpcLink() override;
  void Say(v1::AgentSays what) override;

 private:
  void Pump();
  // The lock is held in all below.
  void Start();
  void Handle(Operation operation, bool ok, std::unique_lock<std::mutex>& lock);
  void OnRead(bool ok, std::unique_lock<std::mutex>& lock);
  void OnFinished(std::unique_lock<std::mutex>& lock);
  void Queue(v1::AgentSays what);
  void WriteNext();
  void FinishIfQuiet();
  void HangUp(TimePoint now);

  Clock& clock_;
  const Listener listener_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Fleet::Stub> stub_;
  grpc::CompletionQueue queue_;

  std::mutex mutex_;
  std::unique_ptr<Call> call_;
  Nanos pause_ = kFirstPause;
  TimePoint start_at_;
  TimePoint close_at_;
  bool closing_ = false;
  std::unique_ptr<grpc::Alarm> nudge_;
  std::thread pump_;
};

GrpcLink::GrpcLink(const std::string& target, Clock& clock, Listener listener)
    : clock_(clock), listener_(std::move(listener)), start_at_(clock.Now()) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("grpc.http2.bdp_probe", 0);  // halves the cost of an exchange
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, static_cast<int>(kFirstPause.count() / 1'000'000));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(kFirstPause.count() / 1'000'000));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, static_cast<int>(kLongestPause.count() / 1'000'000));
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  channel_ = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::Fleet::NewStub(channel_);
  pump_ = std::thread([this] { Pump(); });
}

GrpcLink::~GrpcLink() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    close_at_ = clock_.Now() + kPatienceAtTheEnd;
    nudge_ = std::make_unique<grpc::Alarm>();
    nudge_->Set(&queue_, gpr_now(GPR_CLOCK_MONOTONIC), nullptr);
  }
  pump_.join();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

void GrpcLink::Start() {
  call_ = std::make_unique<Call>();
  call_->context.set_wait_for_ready(true);
  call_->io = stub_->PrepareAsyncAttach(&call_->context, &queue_);
  call_->io->StartCall(TagOf(Operation::kStart));
}

void GrpcLink::Pump() {
  std::unique_lock lock(mutex_);
  while (true) {
    const TimePoint now = clock_.Now();
    if (closing_) {
      if (call_ == nullptr) return;
      HangUp(now);
    } else if (call_ == nullptr && now >= start_at_) {
      Start();
    }
    // A pause between two calls, or the patience at the end; else nothing is due and messages wake us.
    TimePoint wake = now + std::chrono::hours(1);
    if (call_ == nullptr) wake = start_at_;
    if (closing_) wake = std::max(close_at_, now + std::chrono::milliseconds(1));
    const auto deadline = gpr_time_add(
        gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(std::max(Nanos(0), Nanos(wake - now)).count(), GPR_TIMESPAN));
    void* tag = nullptr;
    bool ok = false;
    lock.unlock();
    const auto got = queue_.AsyncNext(&tag, &ok, deadline);
    lock.lock();
    if (got == grpc::CompletionQueue::GOT_EVENT && tag != nullptr) {
      Handle(static_cast<Operation>(reinterpret_cast<intptr_t>(tag)), ok, lock);
    }
  }
}

// The peer reads all that was said and then ends the call; cancelling it would throw away what it has not read yet.
void GrpcLink::HangUp(TimePoint now) {
  if (!call_->up || now >= close_at_) {
    call_->context.TryCancel();
  } else if (!call_->said_all && !call_->writing && call_->queue.empty() && call_->reading) {
    call_->said_all = true;
    call_->writing = true;
    call_->io->WritesDone(TagOf(Operation::kWrite));
  }
}

void GrpcLink::Handle(Operation operation, bool ok, std::unique_lock<std::mutex>& lock) {
  switch (operation) {
    case Operation::kStart:
      if (!ok) {
        FinishIfQuiet();
        return;
      }
      call_->up = true;
      call_->reading = true;
      call_->io->Read(&call_->incoming, TagOf(Operation::kRead));
      lock.unlock();
      listener_.up(*this);
      lock.lock();
      break;
    case Operation::kRead:
      OnRead(ok, lock);
      break;
    case Operation::kWrite:
      call_->writing = false;
      if (!ok) call_->queue.clear();  // the failing read tells the rest
      if (!call_->queue.empty()) WriteNext();
      if (!call_->reading) FinishIfQuiet();
      break;
    case Operation::kFinish:
      OnFinished(lock);
      break;
  }
}

void GrpcLink::OnRead(bool ok, std::unique_lock<std::mutex>& lock) {
  const TimePoint now = clock_.Now();
  if (!ok) {
    call_->reading = false;
    call_->queue.clear();
    FinishIfQuiet();
    return;
  }
  v1::CoordinatorSays says = std::move(call_->incoming);
  if (says.has_clock()) {
    v1::AgentSays reply;
    reply.mutable_clock()->set_sequence(says.clock().sequence());
    reply.mutable_clock()->set_received_node_ns(ToNanos(now));
    Queue(std::move(reply));
  } else {
    if (says.has_welcome()) pause_ = kFirstPause;
    lock.unlock();
    listener_.heard(std::move(says), now);
    lock.lock();
  }
  call_->io->Read(&call_->incoming, TagOf(Operation::kRead));
}

void GrpcLink::FinishIfQuiet() {
  if (call_->writing || call_->reading || call_->finishing) return;
  call_->finishing = true;
  call_->io->Finish(&call_->status, TagOf(Operation::kFinish));
}

void GrpcLink::OnFinished(std::unique_lock<std::mutex>& lock) {
  const bool was_up = call_->up;
  const std::string why = call_->status.ok() ? "the coordinator hung up" : call_->status.error_message();
  call_.reset();
  start_at_ = clock_.Now() + pause_;
  pause_ = std::min(pause_ * 2, kLongestPause);
  if (!was_up) return;
  lock.unlock();
  listener_.down(why);
  lock.lock();
}

void GrpcLink::Queue(v1::AgentSays what) {
  if (call_->said_all) return;
  if (call_->queue.size() >= kMostQueued) {
    call_->context.TryCancel();  // it does not read: a new stream begins with the whole state
    return;
  }
  call_->queue.push_back(std::move(what));
  if (!call_->writing) WriteNext();
}

void GrpcLink::WriteNext() {
  call_->writing = true;
  v1::AgentSays next = std::move(call_->queue.front());
  call_->queue.pop_front();
  if (next.has_clock()) next.mutable_clock()->set_sent_node_ns(ToNanos(clock_.Now()));
  call_->io->Write(next, TagOf(Operation::kWrite));  // serialised before it returns
}

void GrpcLink::Say(v1::AgentSays what) {
  const std::lock_guard lock(mutex_);
  if (call_ == nullptr || !call_->up || !call_->reading || closing_) return;
  if (what.has_hello() == call_->greeted) return;  // nothing before the Hello, and only one of it
  call_->greeted = true;
  Queue(std::move(what));
}

}  // namespace

Result<std::unique_ptr<Link>> Link::Dial(const std::string& target, Clock& clock, Listener listener) {
  if (!target.starts_with("unix:/")) {
    return absl::InvalidArgumentError("dial '" + target + "': only unix:/absolute/path will do");
  }
  return std::make_unique<GrpcLink>(target, clock, std::move(listener));
}

}  // namespace triodrill::agent
