// One call of Attach on the completion queue: its session, its write queue, and the operations under way. Owned by the
// server, touched only with the server's lock held. It may be freed once Over().
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <optional>
#include <string>

#include "coordinator/fleet/session.h"
#include "triodrill/v1/fleet.grpc.pb.h"

namespace triodrill::fleet {

class Stream {
 public:
  enum class Operation { kAccept, kRead, kWrite, kFinish };
  struct Tag {
    Stream* stream;
    Operation operation;
  };

  // Asks for the next incoming call: there is always one stream that waits for it.
  Stream(v1::Fleet::AsyncService& service, grpc::ServerCompletionQueue& queue, Clock& clock);

  // Accept is done: the call is there, and its session begins.
  void Begin(const Options& options);
  void Read();
  // False: the queue is full, or the stream is ending.
  bool Say(v1::CoordinatorSays what);
  // Ends the stream: what is queued is written first, unless it was cancelled. The first reason given stands.
  void End(grpc::Status status);
  // Ends it now, whatever the peer does.
  void Cancel(grpc::Status status);

  // The completion queue ends: what is under way completes, and nothing is begun any more, for gRPC aborts the process
  // that begins something on a queue that was shut down.
  void Close() { closed_ = true; }

  // One operation has completed.
  void Completed(Operation operation, bool ok);

  bool begun() const { return session_.has_value(); }
  bool ending() const { return ending_; }
  bool Over() const { return finished_ && !reading_ && !writing_; }
  Session& session() { return *session_; }  // begun
  v1::AgentSays TakeRead() { return std::move(incoming_); }

 private:
  void WriteNext();
  void FinishIfQuiet();

  Clock& clock_;
  Tag accept_{this, Operation::kAccept};
  Tag read_{this, Operation::kRead};
  Tag write_{this, Operation::kWrite};
  Tag finish_{this, Operation::kFinish};
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<v1::CoordinatorSays, v1::AgentSays> call_{&context_};
  std::optional<Session> session_;
  v1::AgentSays incoming_;
  std::deque<v1::CoordinatorSays> queue_;
  grpc::Status status_;
  bool reading_ = false;
  bool writing_ = false;
  bool ending_ = false;
  bool finishing_ = false;
  bool finished_ = false;
  bool closed_ = false;
};

}  // namespace triodrill::fleet
