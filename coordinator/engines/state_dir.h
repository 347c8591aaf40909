// The directory in which a partition keeps what must outlive a process: sockets, journals, policies, logs.
//
//   coordinator.sock   the fleet listens here (Unix socket: outside the faulted network)
//   run.lock           held by the one run on this partition
//   up.lock            held while the sandbox is being brought up
//   shadow.sock .lock .pid .log .json   the sandbox's control socket, lock, process, errors, specification
//   hosts              /etc/hosts of every node
//   partition.json     ${partition_file}: the partition, for a workload that wants to know
//   nodes/NODE/        journal/ policy.yaml agent.log; nvml/: links to the shadow GPUs' library and to their state
//   run/               ${run_dir}: NODE.out NODE.err progress-NODE.log checkpoint/ tmp/; made anew by every Up
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace triodrill::engines {

// $TRIODRILL_STATE_DIR; else $XDG_RUNTIME_DIR/triodrill/NAME; else /run/triodrill/NAME for root,
// /tmp/triodrill-UID/NAME for anybody else. Only the path: PrepareStateDir makes it.
std::string DefaultStateDir(std::string_view partition);

// The same as a pure function; empty = not set.
std::string DefaultStateDir(std::string_view partition, std::string_view state_dir_env,
                            std::string_view xdg_runtime_env, uid_t uid);

// Makes the directory, mode 0700, and checks that it is a directory of ours that nobody else can enter, and that the
// Unix sockets in it have paths that fit a socket address.
Status PrepareStateDir(const std::string& state_dir);

inline std::string CoordinatorSocket(const std::string& state_dir) { return state_dir + "/coordinator.sock"; }
inline std::string ShadowSocket(const std::string& state_dir) { return state_dir + "/shadow.sock"; }
inline std::string PartitionFile(const std::string& state_dir) { return state_dir + "/partition.json"; }
inline std::string RunDir(const std::string& state_dir) { return state_dir + "/run"; }
inline std::string NodeDir(const std::string& state_dir, std::string_view node) {
  return state_dir + "/nodes/" + std::string(node);
}

// One run on one partition (or, for a moment, one that brings it up). Released by the destructor and by the death of
// the process (flock), never by hand.
class PartitionLock {
 public:
  // FailedPrecondition naming the holder's pid if another run has it.
  static Result<std::unique_ptr<PartitionLock>> Take(const std::string& state_dir);

  // The same on up.lock, for as long as a sandbox is being brought up: its files are written anew then.
  static Result<std::unique_ptr<PartitionLock>> TakeForUp(const std::string& state_dir);
  ~PartitionLock();
  PartitionLock(const PartitionLock&) = delete;
  PartitionLock& operator=(const PartitionLock&) = delete;

 private:
  static Result<std::unique_ptr<PartitionLock>> TakeFile(const std::string& file, const std::string& holder);

  explicit PartitionLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace triodrill::engines
