#include "drills/shadow/pipeline/server.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "drills/shadow/system_clock.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr const char* kSocket = "pipeline.sock";
constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::seconds kEndWithin{5};
constexpr std::string_view kConfirmWord = R"({"do":"confirm"})";

}  // namespace

Server::Server(Config config, Clock& clock)
    : config_(std::move(config)), clock_(clock), state_(Begin(config_, clock.Now())) {}

Status Server::Open() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t asked;
  sigemptyset(&asked);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&asked, number);
  sigprocmask(SIG_BLOCK, &asked, nullptr);
  signals_.Reset(signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return ErrnoStatus("signalfd of", "the pipeline");
  TRIODRILL_ASSIGN_OR_RETURN(RunFiles files, RunFiles::Open());
  files_.push_back(std::move(files));
  TRIODRILL_ASSIGN_OR_RETURN(checkpoints_, CheckpointReader::Open());
  TRIODRILL_ASSIGN_OR_RETURN(listener_, ListenAt(kSocket));
  return Ok();
}

Status Server::Run() {
  TRIODRILL_RETURN_IF_ERROR(Open());
  TimePoint next_tick = clock_.Now();
  while (!ending_) {
    Look(PollTimeout(clock_, next_tick));
    if (clock_.Now() < next_tick) continue;
    if (TakeConfirmation()) Happen(Confirmed{});
    Happen(Tick{});
    next_tick = clock_.Now() + kTick;
  }
  const TimePoint deadline = clock_.Now() + kEndWithin;
  while (!clients_.empty() && clock_.Now() < deadline)
    Look(PollTimeout(clock_, std::min(deadline, clock_.Now() + kTick)));
  unlink(kSocket);
  return Ok();
}

void Server::Look(int timeout_ms) {
  std::vector<pollfd> look = {
      {signals_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}, {checkpoints_->fd(), POLLIN, 0}};
  const size_t first_client = look.size();
  for (const auto& client : clients_) {
    const short events = client->socket.waiting() ? POLLIN | POLLOUT : POLLIN;
    look.push_back({client->socket.fd(), events, 0});
  }
  if (poll(look.data(), look.size(), timeout_ms) <= 0) return;
  signalfd_siginfo info;
  if (read(signals_.get(), &info, sizeof info) == sizeof info) Happen(StopAsked{});
  for (size_t i = 0; i < clients_.size(); ++i) {
    const short happened = look[first_client + i].revents;
    if ((happened & POLLOUT) != 0) clients_[i]->socket.Flush();
    if ((happened & ~POLLOUT) != 0) Read(*clients_[i]);
  }
  for (const Checkpoints& answer : checkpoints_->TakeAnswers()) Happen(answer);
  DropGone();
  if (look[1].revents != 0) Accept();
}

void Server::Accept() {
  for (int fd; (fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
    clients_.push_back(std::make_unique<Client>(OwnedFd(fd)));
  }
}

// All that is there, so that a tick after it judges by the latest.
void Server::Read(Client& client) {
  while (const std::optional<std::string> text = client.socket.Receive()) Understand(client, *text);
}

void Server::Understand(Client& client, const std::string& text) {
  if (text == kConfirmWord) return Happen(Confirmed{});
  const Result<FromNode> message = DecodeFromNode(text);
  if (!message.ok()) {
    std::fprintf(stderr, "triodrill-pipeline: warning: %s\n", std::string(message.status().message()).c_str());
    return;
  }
  if (const NodeHello* hello = std::get_if<NodeHello>(&*message)) {
    if (Client* old = Find(hello->node); old != nullptr && old != &client)
      old->node.clear();  // that launcher is no more
    client.node = hello->node;
  }
  if (client.node.empty()) return;
  std::visit([this](const auto& one) { Happen(one); }, *message);
}

void Server::DropGone() {
  std::vector<std::string> gone;
  for (const auto& client : clients_) {
    if (client->socket.gone() && !client->node.empty()) gone.push_back(client->node);
  }
  clients_.erase(
      std::remove_if(clients_.begin(), clients_.end(), [](const auto& client) { return client->socket.gone(); }),
      clients_.end());
  for (const std::string& node : gone) Happen(NodeGone{node});
}

void Server::Happen(const Event& event) {
  pending_.push_back(event);
  if (happening_) return;
  happening_ = true;
  while (!pending_.empty()) {
    const TimePoint now = clock_.Now();
    Stepped stepped = Step(config_, std::move(state_), pending_.front(), now);
    pending_.pop_front();
    state_ = std::move(stepped.state);
    for (const Action& action : stepped.actions) Perform(action, now);
  }
  happening_ = false;
}

void Server::Perform(const Action& action, TimePoint now) {
  if (const Order* order = std::get_if<Order>(&action)) {
    if (Client* client = Find(order->node)) client->socket.Send(Encode(order->order));
  } else if (const LogLine* line = std::get_if<LogLine>(&action)) {
    files_[0].Write(*line);
  } else if (const Truth* truth = std::get_if<Truth>(&action)) {
    files_[0].Write(*truth, now, clock_.Now());
  } else if (const LedgerEntry* entry = std::get_if<LedgerEntry>(&action)) {
    files_[0].Write(*entry);
  } else if (const MakeStore* store = std::get_if<MakeStore>(&action)) {
    MakeStoreDirectory(*store);
  } else if (const ReadCheckpoints* read = std::get_if<ReadCheckpoints>(&action)) {
    checkpoints_->Ask(read->request, config_.topology.tensor_parallel);
  } else if (std::holds_alternative<EndProgram>(action)) {
    ending_ = true;
  }
}

Server::Client* Server::Find(const std::string& node) {
  for (const auto& client : clients_) {
    if (client->node == node) return client.get();
  }
  return nullptr;
}

}  // namespace triodrill::shadow::pipeline
