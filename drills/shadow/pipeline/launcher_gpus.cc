// The launcher's shadow GPUs: as many as it has slots, and an exporter of theirs.
#include <unistd.h>

#include <cstdio>

#include "drills/shadow/gpu/state_file.h"
#include "drills/shadow/namespaces.h"
#include "drills/shadow/pipeline/launcher.h"
#include "drills/shadow/pipeline/node_facts.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

// Where dcgm-exporter listens, too; in the node's own network namespace.
constexpr char kNvml[] = "libnvidia-ml.so.1";
constexpr char kExporterListens[] = "127.0.0.1:9400";

void Warn(const std::string& text) { std::fprintf(stderr, "triodrill-node: warning: %s\n", text.c_str()); }

}  // namespace

// A launcher that is started again finds the GPUs as they are, locks and errors and all: hardware does not forget
// either.
Status Launcher::MakeGpus() {
  const std::string file = GpuStateFile(options_);
  const Result<gpu::MappedState> there = gpu::MappedState::Open(file, true);
  if (there.ok() && static_cast<int>((*there)->count) == me_->slots) return Ok();
  if (!there.ok() && !absl::IsNotFound(there.status())) {
    Warn(Cat(std::string(there.status().message()), "; it is made anew"));
  }
  return gpu::MakeState(file, {me_->slots, config_.policy.spec.training().seed(), options_.node}, /*replace=*/true);
}

// As NVSentinel or GPUd do on a real node; lines about other things are nobody's concern here.
void Launcher::ReadKernelLog() {
  for (const std::string& line : kernel_log_.NewLines()) {
    const std::optional<XidWord> word = ParseXidWord(line);
    if (!word) continue;
    const Result<gpu::MappedState> gpus = gpu::MappedState::Open(GpuStateFile(options_), false);
    if (!gpus.ok()) return Warn(Cat("whose XID it is cannot be seen: ", std::string(gpus.status().message())));
    for (uint32_t i = 0; i < (*gpus)->count; ++i) {
      if (!IsAt(*word, (*gpus)->gpus[i].identity.bus_id)) continue;
      Say(XidSeen{{options_.node, static_cast<int>(i)}, word->xid, line});
    }
  }
}

// Through the library, as a health check of a real node would; our link to it is as it is installed, or else as it is
// built.
void Launcher::LookAtGpu(int gpu, Spawning& probe) const {
  const std::string installed = Cat(programs_, "/../" TRIODRILL_LIBDIR "/triodrill/shadow-gpu/", kNvml);
  const bool there = access(installed.c_str(), R_OK) == 0;
  probe.arguments.insert(probe.arguments.end(),
                         {"--gpu", Cat(gpu), "--nvml", there ? installed : Cat(programs_, "/../shadow-gpu/", kNvml)});
  probe.environment.push_back(Cat("TRIODRILL_SHADOW_GPU_STATE=", options_.run_dir, "/", GpuStateFile(options_)));
}

// Nothing depends on it: a job trains on without being watched.
void Launcher::StartExporter() {
  Spawning spawning;
  spawning.program = programs_ + "/triodrill-gpu-exporter";
  spawning.arguments = {"--state", GpuStateFile(options_), "--listen", kExporterListens, "--hostname", options_.node};
  const Result<pid_t> pid = Spawn(spawning);
  if (!pid.ok()) return Warn(std::string(pid.status().message()));
  exporter_pid_ = *pid;
  exporter_pidfd_.Reset(PidfdOpen(*pid));
}

void Launcher::ReapExporter() {
  if (exporter_pid_ == 0 || !Ended(exporter_pidfd_.get())) return;
  const std::optional<ExitStatus> status = Reap(exporter_pid_);
  if (!status) return;
  exporter_pid_ = 0;
  exporter_pidfd_.Reset();
  if (stopping_) return;
  Warn(Cat("the exporter of the shadow GPUs ended (", status->signal != 0 ? "signal " : "code ",
           status->signal != 0 ? status->signal : status->code,
           "); nobody publishes them until the launcher is restarted"));
}

}  // namespace triodrill::shadow::pipeline
