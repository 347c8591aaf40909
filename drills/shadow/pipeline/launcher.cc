#include "drills/shadow/pipeline/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "drills/shadow/namespaces.h"
#include "drills/shadow/pipeline/node_facts.h"
#include "drills/shadow/system_clock.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr const char* kSocket = "pipeline.sock";
constexpr std::chrono::milliseconds kTick{50};

}  // namespace

Launcher::Launcher(Options options, Config config, Clock& clock)
    : options_(std::move(options)), config_(std::move(config)), clock_(clock), kernel_log_(KernelLogFile(options_)) {}

Status Launcher::Open() {
  me_ = config_.topology.Find(options_.node);
  if (me_ == nullptr) {
    return absl::InvalidArgumentError(Cat("--node ", options_.node, ": no node of the partition has this name"));
  }
  programs_ = OwnDirectory();
  interface_ = InterfaceOf(options_.address);
  signal(SIGPIPE, SIG_IGN);
  sigset_t asked;
  sigemptyset(&asked);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&asked, number);
  sigprocmask(SIG_BLOCK, &asked, nullptr);
  signals_.Reset(signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return ErrnoStatus("signalfd of", "the launcher");
  TRIODRILL_ASSIGN_OR_RETURN(auto links, ListenForLinks(options_.address));
  links_ = std::move(links.first);
  links_port_ = links.second;
  TRIODRILL_RETURN_IF_ERROR(MakeGpus());
  StartExporter();
  report_at_ = pipeline_again_ = clock_.Now();
  return Ok();
}

Status Launcher::Run() {
  TRIODRILL_RETURN_IF_ERROR(Open());
  TimePoint next_tick = clock_.Now();
  while (!Stopped()) {
    Look(PollTimeout(clock_, next_tick));
    if (clock_.Now() < next_tick) continue;
    OnTick();
    next_tick = clock_.Now() + kTick;
  }
  return Ok();
}

void Launcher::Look(int timeout_ms) {
  std::vector<pollfd> look = {{signals_.get(), POLLIN, 0}, {links_.get(), POLLIN, 0}};
  if (pipeline_)
    look.push_back({pipeline_->fd(), static_cast<short>(pipeline_->waiting() ? POLLIN | POLLOUT : POLLIN), 0});
  for (const auto& trainer : trainers_) {
    look.push_back({trainer->pidfd(), POLLIN, 0});
    if (!trainer->control().gone()) look.push_back({trainer->control().fd(), POLLIN, 0});
  }
  for (const auto& probe : probes_) look.push_back({probe->pidfd.get(), POLLIN, 0});
  if (pipeline_pidfd_.valid()) look.push_back({pipeline_pidfd_.get(), POLLIN, 0});
  if (exporter_pidfd_.valid()) look.push_back({exporter_pidfd_.get(), POLLIN, 0});
  if (poll(look.data(), look.size(), timeout_ms) <= 0) return;
  signalfd_siginfo info;
  if (read(signals_.get(), &info, sizeof info) == sizeof info) BeginStop();
  while (look[1].revents != 0) {
    const OwnedFd accepted(accept4(links_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!accepted.valid()) break;
  }
  if (pipeline_) {
    pipeline_->Flush();
    ReadPipeline();
  }
  for (const auto& trainer : trainers_) ReadTrainer(*trainer);
  ReapTrainers();
  ReapProbes();
  ReapExporter();
  KeepPipeline();
}

void Launcher::OnTick() {
  KeepPipeline();
  if (!pipeline_ && !stopping_) Connect();
  if (pipeline_) ReadKernelLog();
  for (const auto& trainer : trainers_) {
    trainer->control().Flush();
    for (const std::string& line : trainer->NewErrorLines()) {
      Say(ErrorLine{trainer->order().slot, trainer->order().incarnation, line});
    }
  }
  if (clock_.Now() >= report_at_) Report();
  if (stopping_ && clock_.Now() >= kill_at_) {
    for (const auto& trainer : trainers_) trainer->Signal(SIGKILL);
  }
}

// Again and again, for as long as there is none: trainers train on meanwhile.
void Launcher::Connect() {
  Result<OwnedFd> connected = ConnectTo(kSocket);
  if (!connected.ok()) return;
  pipeline_.emplace(*std::move(connected));
  NodeHello hello;
  hello.node = options_.node;
  hello.slots = me_->slots;
  hello.address = options_.address;
  hello.spare = me_->spare;
  hello.probe_port = links_port_;
  for (const auto& trainer : trainers_) {
    const StartTrainer& order = trainer->order();
    hello.trainers.push_back({order.slot.local_rank, order.incarnation, order.rank, trainer->epoch()});
  }
  Say(hello);
}

void Launcher::Say(const FromNode& message) {
  if (pipeline_) pipeline_->Send(Encode(message));
}

void Launcher::ReadPipeline() {
  while (const std::optional<std::string> text = pipeline_->Receive()) {
    const Result<ToNode> order = DecodeToNode(*text);
    if (order.ok()) {
      std::visit([this](const auto& one) { Obey(one); }, *order);
    } else {
      std::fprintf(stderr, "triodrill-node: warning: %s\n", std::string(order.status().message()).c_str());
    }
  }
  if (pipeline_->gone()) pipeline_.reset();
}

TrainerProcess* Launcher::Find(const Slot& slot, int incarnation) {
  for (const auto& trainer : trainers_) {
    if (trainer->order().slot == slot && trainer->order().incarnation == incarnation) return trainer.get();
  }
  return nullptr;
}

void Launcher::Obey(const StartTrainer& order) {
  if (stopping_) return;
  Result<TrainerProcess> started = TrainerProcess::Start(options_, config_, order, programs_ + "/triodrill-trainer");
  if (!started.ok()) {
    return Say(Started{order.slot, order.incarnation, 0, std::string(started.status().message())});
  }
  trainers_.push_back(std::make_unique<TrainerProcess>(*std::move(started)));
  Say(Started{order.slot, order.incarnation, trainers_.back()->pid(), ""});
}

void Launcher::Obey(const KillTrainer& order) {
  if (TrainerProcess* trainer = Find(order.slot, order.incarnation)) trainer->Signal(SIGKILL);
}

void Launcher::Obey(const Tell& order) {
  if (TrainerProcess* trainer = Find(order.slot, order.incarnation)) trainer->Tell(order.message);
}

void Launcher::Obey(const RunCheck& order) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Say(CheckDone{order.id, options_.node, false, "no pipe", {}});
  auto probe = std::make_unique<Probe>();
  probe->id = order.id;
  probe->out.Reset(ends[0]);
  const OwnedFd write_end(ends[1]);
  const v1::ShadowSelfCheck& check = config_.policy.spec.self_check();
  const int64_t timeout_ms = ToNanos(check.timeout()).count() / 1'000'000;
  Spawning spawning;
  spawning.program = programs_ + "/triodrill-probe";
  spawning.out = write_end.get();
  spawning.arguments = {order.kind, "--address", options_.address, "--timeout-ms", Cat(timeout_ms)};
  if (order.kind == "gather") {
    for (const std::string& argument : {std::string("--rank"), Cat(order.rank), std::string("--store"), order.store}) {
      spawning.arguments.push_back(argument);
    }
  } else {
    spawning.arguments.insert(spawning.arguments.end(), {"--floor", Cat(check.bandwidth_floor())});
    for (const Peer& peer : order.peers) {
      spawning.arguments.insert(spawning.arguments.end(),
                                {"--peer", Cat(peer.node, "=", peer.address, ":", peer.port)});
    }
    if (order.gpu >= 0) LookAtGpu(order.gpu, spawning);
  }
  const Result<pid_t> pid = Spawn(spawning);
  if (!pid.ok()) return Say(CheckDone{order.id, options_.node, false, std::string(pid.status().message()), {}});
  probe->pid = *pid;
  probe->pidfd.Reset(PidfdOpen(*pid));
  probes_.push_back(std::move(probe));
}

void Launcher::Obey(const StopNode&) { BeginStop(); }

}  // namespace triodrill::shadow::pipeline
