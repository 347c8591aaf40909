// A node's launcher: starts and ends trainers and probes as the pipeline orders, and tells it what happens to them. It
// decides nothing. One thread. What it started dies with it; it dies with its node. On the first node it also keeps the
// pipeline running. The node's shadow GPUs are made here, and published by an exporter.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drills/shadow/pipeline/options.h"
#include "drills/shadow/pipeline/seqpacket.h"
#include "drills/shadow/pipeline/trainer_process.h"
#include "triodrill/time.h"

namespace triodrill::shadow::pipeline {

class Launcher {
 public:
  Launcher(Options options, Config config, Clock& clock);

  // Until it is told to stop, by SIGTERM or by the pipeline, and every process it started has ended.
  Status Run();

 private:
  struct Probe {
    int id = 0;
    pid_t pid = 0;
    OwnedFd pidfd;
    OwnedFd out;
    std::string text;
  };

  Status Open();
  void Look(int timeout_ms);
  void OnTick();
  void Connect();
  void Say(const FromNode& message);
  void ReadPipeline();
  void Obey(const StartTrainer& order);
  void Obey(const KillTrainer& order);
  void Obey(const Tell& order);
  void Obey(const RunCheck& order);
  void Obey(const StopNode& order);
  void ReadTrainer(TrainerProcess& trainer);
  void ReapTrainers();
  void ReapProbes();
  void KeepPipeline();
  Status MakeGpus();
  void ReadKernelLog();
  void LookAtGpu(int gpu, Spawning& probe) const;
  void StartExporter();
  void ReapExporter();
  void Report();
  void BeginStop();
  bool Stopped();
  TrainerProcess* Find(const Slot& slot, int incarnation);

  const Options options_;
  const Config config_;
  Clock& clock_;
  const TopologyNode* me_ = nullptr;
  std::string programs_;   // directory of this program
  std::string interface_;  // that carries the address
  OwnedFd signals_;
  OwnedFd links_;  // listens for other nodes' link checks
  int links_port_ = 0;
  std::optional<Datagrams> pipeline_;
  std::vector<std::unique_ptr<TrainerProcess>> trainers_;
  std::vector<std::unique_ptr<Probe>> probes_;
  pid_t pipeline_pid_ = 0;
  OwnedFd pipeline_pidfd_;
  TimePoint pipeline_again_;
  TimePoint report_at_;
  LineTail kernel_log_;     // what it said before is of an earlier launcher's time
  pid_t exporter_pid_ = 0;  // of the node's shadow GPUs
  OwnedFd exporter_pidfd_;
  bool stopping_ = false;
  TimePoint kill_at_;
};

}  // namespace triodrill::shadow::pipeline
