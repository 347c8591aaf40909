// The pipeline's shell: launchers' connections, the core, and what the core orders. One thread, and one for each look
// at the checkpoints. A crash leaves the launchers and their trainers running; the next one learns from their hellos.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drills/shadow/pipeline/checkpoint_reader.h"
#include "drills/shadow/pipeline/core.h"
#include "drills/shadow/pipeline/run_files.h"
#include "drills/shadow/pipeline/seqpacket.h"
#include "triodrill/time.h"

namespace triodrill::shadow::pipeline {

class Server {
 public:
  Server(Config config, Clock& clock);

  // Until SIGTERM or SIGINT, and then until the launchers are gone, or for as long as they may take.
  Status Run();

 private:
  struct Client {
    explicit Client(OwnedFd fd) : socket(std::move(fd)) {}
    Datagrams socket;
    std::string node;  // empty: has not said hello
  };

  Status Open();
  void Look(int timeout_ms);
  void Accept();
  void Read(Client& client);
  void Understand(Client& client, const std::string& text);
  void Happen(const Event& event);
  void Perform(const Action& action, TimePoint now);
  void DropGone();
  Client* Find(const std::string& node);

  const Config config_;
  Clock& clock_;
  State state_;
  std::vector<RunFiles> files_;                  // one, once open
  std::optional<CheckpointReader> checkpoints_;  // once open
  OwnedFd listener_;
  OwnedFd signals_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::deque<Event> pending_;  // answers to what was performed
  bool happening_ = false;
  bool ending_ = false;
};

}  // namespace triodrill::shadow::pipeline
