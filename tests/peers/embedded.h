// An embedded partition of three nodes in a temporary state directory, with stubs for agents, and looks at the machine
// around it. For tests that run the real sandbox.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/engines/local_engine.h"
#include "coordinator/os/clock.h"
#include "triodrill/v1/shadow.pb.h"

namespace triodrill::testing_embedded {

// What a sandbox might leave behind on the machine itself.
struct Machine {
  std::set<std::string> links;    // of our own network namespace
  std::set<std::string> mounts;   // of our own mount namespace
  std::set<std::string> cgroups;  // directories
  friend bool operator==(const Machine&, const Machine&) = default;
};
Machine LookAtMachine();

// Inodes of the pid namespaces of the nodes; empty for one that is gone.
std::set<std::string> PidNamespaces(const engines::EngineStatus& status);

// Every process of these namespaces, of nested ones not.
std::vector<pid_t> ProcessesIn(const std::set<std::string>& pid_namespaces);

std::string CommandLine(pid_t pid);  // arguments joined by a space
std::string ReadText(const std::string& file);

// Looks again every few milliseconds until `done`; false at the deadline.
bool Await(std::chrono::seconds at_most, const std::function<bool()>& done);

// Whether /usr/bin/python3 can import what torchrun needs; otherwise the reason.
std::string WhyNoTorch();

class Embedded : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Three nodes; agents are stubs that do nothing; `workload` on each of them.
  v1::ShadowSpec Spec(const std::vector<std::string>& workload = {}, const std::vector<std::string>& env = {}) const;
  engines::EngineStatus Status() const;
  std::string RunDir() const { return state_dir_ + "/run"; }
  engines::LocalEngine& engine() { return *engine_; }

  coordinator::SystemClock clock_;
  engines::Programs programs_;
  std::string base_;       // temporary, closed to others
  std::string state_dir_;  // below it
  std::unique_ptr<engines::LocalEngine> engine_;
};

}  // namespace triodrill::testing_embedded
