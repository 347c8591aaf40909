#include "coordinator/fleet/stream.h"

#include <utility>

namespace triodrill::fleet {
namespace {

// An agent that does not read this many messages is not going to.
constexpr size_t kMostQueued = 4096;

}  // namespace

Stream::Stream(v1::Fleet::AsyncService& service, grpc::ServerCompletionQueue& queue, Clock& clock) : clock_(clock) {
  service.RequestAttach(&context_, &call_, &queue, &queue, &accept_);
}

void Stream::Begin(const Options& options) { session_.emplace(options, clock_.Now()); }

void Stream::Read() {
  if (closed_) return;
  reading_ = true;
  call_.Read(&incoming_, &read_);
}

bool Stream::Say(v1::CoordinatorSays what) {
  if (ending_ || closed_ || queue_.size() >= kMostQueued) return false;
  queue_.push_back(std::move(what));
  if (!writing_) WriteNext();
  return true;
}

void Stream::WriteNext() {
  if (closed_) return;
  writing_ = true;
  const v1::CoordinatorSays next = std::move(queue_.front());
  queue_.pop_front();
  if (next.has_clock()) session_->ProbeWritten(next.clock().sequence(), clock_.Now());
  call_.Write(next, &write_);  // serialised before it returns
}

void Stream::End(grpc::Status status) {
  if (!ending_) status_ = std::move(status);
  ending_ = true;
  FinishIfQuiet();
}

void Stream::Cancel(grpc::Status status) {
  queue_.clear();
  if (writing_) context_.TryCancel();  // else the peer is told why
  End(std::move(status));
}

void Stream::FinishIfQuiet() {
  if (closed_ || !begun() || !ending_ || finishing_ || writing_ || !queue_.empty()) return;
  finishing_ = true;
  call_.Finish(status_, &finish_);
}

void Stream::Completed(Operation operation, bool ok) {
  switch (operation) {
    case Operation::kAccept:
      if (!ok) finished_ = true;  // the server is closing: there will be no call
      break;
    case Operation::kRead:
      reading_ = false;
      break;
    case Operation::kWrite:
      writing_ = false;
      if (!ok) queue_.clear();  // nobody will read them; the failing read tells the rest
      if (!queue_.empty()) WriteNext();
      FinishIfQuiet();
      break;
    case Operation::kFinish:
      finished_ = true;
      break;
  }
}

}  // namespace triodrill::fleet
