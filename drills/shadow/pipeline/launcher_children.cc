// The launcher's children: what they say, how they end.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drills/shadow/namespaces.h"
#include "drills/shadow/pipeline/launcher.h"
#include "drills/shadow/pipeline/node_facts.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr std::chrono::milliseconds kReport{200};
constexpr std::chrono::milliseconds kPipelineAgain{200};
constexpr std::chrono::seconds kGrace{2};  // for trainers to end by themselves

CheckDone ParseProbe(const std::string& text, const std::string& node, int id, const ExitStatus& status) {
  CheckDone done{id, node, false, "", {}};
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    json.at("ok").get_to(done.ok);
    json.at("detail").get_to(done.detail);
    json.at("unreachable").get_to(done.unreachable);
    json.at("gpu_sick").get_to(done.gpu_sick);
  } catch (const std::exception&) {
    done.ok = false;
    done.detail =
        status.signal != 0 ? Cat("probe ended by signal ", status.signal) : Cat("probe ended with ", status.code);
  }
  return done;
}

}  // namespace

void Launcher::ReadTrainer(TrainerProcess& trainer) {
  const StartTrainer& order = trainer.order();
  while (const std::optional<std::string> text = trainer.control().Receive()) {
    Result<FromTrainer> message = DecodeFromTrainer(*text);
    if (message.ok()) {
      Say(Said{order.slot, order.incarnation, *std::move(message)});
    } else {
      Say(ErrorLine{order.slot, order.incarnation, std::string(message.status().message())});
    }
  }
  if (!trainer.control().gone() || trainer.reported_closed) return;
  trainer.reported_closed = true;
  Say(Closed{order.slot, order.incarnation});
}

// Its last words first, so that the report of an end comes with its reason.
void Launcher::ReapTrainers() {
  for (const auto& trainer : trainers_) {
    if (!Ended(trainer->pidfd())) continue;
    const std::optional<ExitStatus> status = Reap(trainer->pid());
    if (!status) continue;
    ReadTrainer(*trainer);
    const StartTrainer& order = trainer->order();
    for (const std::string& line : trainer->NewErrorLines()) Say(ErrorLine{order.slot, order.incarnation, line});
    if (!trainer->reported_closed) Say(Closed{order.slot, order.incarnation});
    Say(Exited{order.slot, order.incarnation, status->code, status->signal});
    trainer->reaped = true;
  }
  trainers_.erase(
      std::remove_if(trainers_.begin(), trainers_.end(), [](const auto& trainer) { return trainer->reaped; }),
      trainers_.end());
}

void Launcher::ReapProbes() {
  for (const auto& probe : probes_) {
    char bytes[4096];
    ssize_t got;
    while ((got = read(probe->out.get(), bytes, sizeof bytes)) > 0) probe->text.append(bytes, static_cast<size_t>(got));
    if (!Ended(probe->pidfd.get())) continue;
    const std::optional<ExitStatus> status = Reap(probe->pid);
    if (!status) continue;
    while ((got = read(probe->out.get(), bytes, sizeof bytes)) > 0) probe->text.append(bytes, static_cast<size_t>(got));
    Say(ParseProbe(probe->text, options_.node, probe->id, *status));
    probe->pid = 0;
  }
  probes_.erase(std::remove_if(probes_.begin(), probes_.end(), [](const auto& probe) { return probe->pid == 0; }),
                probes_.end());
}

void Launcher::KeepPipeline() {
  if (options_.node != options_.first_node) return;
  if (pipeline_pid_ != 0) {
    if (!Ended(pipeline_pidfd_.get()) || !Reap(pipeline_pid_)) return;
    pipeline_pid_ = 0;
    pipeline_pidfd_.Reset();
    pipeline_again_ = clock_.Now() + kPipelineAgain;
  }
  if (stopping_ || clock_.Now() < pipeline_again_) return;
  Spawning spawning;
  spawning.program = programs_ + "/triodrill-pipeline";
  spawning.arguments = {"--run-dir", options_.run_dir,    "--partition", options_.partition_file,
                        "--policy",  options_.policy_file};
  if (!options_.defect.empty()) spawning.arguments.insert(spawning.arguments.end(), {"--defect", options_.defect});
  const Result<pid_t> pid = Spawn(spawning);
  pipeline_again_ = clock_.Now() + kPipelineAgain;
  if (!pid.ok()) return;
  pipeline_pid_ = *pid;
  pipeline_pidfd_.Reset(PidfdOpen(*pid));
}

void Launcher::Report() {
  report_at_ = clock_.Now() + kReport;
  const InterfaceBytes bytes = ReadInterfaceBytes(interface_);
  NodeReport report{options_.node, bytes.received, bytes.sent, {}};
  // One log a node, which its ranks share.
  report.log_age_ms.assign(static_cast<size_t>(me_->slots), AgeOf(Cat("progress-", options_.node, ".log")));
  Say(report);
}

void Launcher::BeginStop() {
  if (stopping_) return;
  stopping_ = true;
  kill_at_ = clock_.Now() + kGrace;
  // The pipeline, if it is ours, tells the others; it goes on until they are gone, or for as long as they may take.
  if (pipeline_pidfd_.valid()) PidfdSignal(pipeline_pidfd_.get(), SIGTERM);
  for (const auto& trainer : trainers_) {
    trainer->Tell(Stop{});
    trainer->Signal(SIGTERM);
  }
  if (exporter_pidfd_.valid()) PidfdSignal(exporter_pidfd_.get(), SIGKILL);
  for (const auto& probe : probes_) PidfdSignal(probe->pidfd.get(), SIGKILL);
}

// The pipeline waits for every launcher's connection to close, ours as well.
bool Launcher::Stopped() {
  if (!stopping_ || !trainers_.empty() || !probes_.empty() || exporter_pid_ != 0) return false;
  pipeline_.reset();
  return pipeline_pid_ == 0;
}

}  // namespace triodrill::shadow::pipeline
