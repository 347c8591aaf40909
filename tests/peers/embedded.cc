#include "tests/peers/embedded.h"

#include <net/if.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "coordinator/os/child_process.h"
#include "triodrill/text.h"

namespace triodrill::testing_embedded {
namespace {

namespace fs = std::filesystem;

std::string PidNamespaceOf(pid_t pid) {
  std::error_code error;
  const fs::path link = fs::read_symlink(Cat("/proc/", pid, "/ns/pid"), error);
  return error ? "" : link.string();
}

std::set<std::string> DirectoriesBelow(const fs::path& top) {
  std::set<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(top, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (at->is_directory(gone)) found.insert(at->path().string());
  }
  return found;
}

}  // namespace

Machine LookAtMachine() {
  Machine machine;
  if (struct if_nameindex* links = if_nameindex()) {
    for (const struct if_nameindex* link = links; link->if_index != 0; ++link) machine.links.insert(link->if_name);
    if_freenameindex(links);
  }
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) machine.mounts.insert(line);
  machine.cgroups = DirectoriesBelow("/sys/fs/cgroup");
  return machine;
}

std::set<std::string> PidNamespaces(const engines::EngineStatus& status) {
  std::set<std::string> found;
  for (const engines::NodeStatus& node : status.nodes) {
    if (const std::string name = PidNamespaceOf(node.init_pid); !name.empty()) found.insert(name);
  }
  return found;
}

std::vector<pid_t> ProcessesIn(const std::set<std::string>& pid_namespaces) {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const pid_t pid = std::atoi(at->path().filename().c_str());
    if (pid > 0 && pid_namespaces.contains(PidNamespaceOf(pid))) found.push_back(pid);
  }
  return found;
}

std::string ReadText(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string CommandLine(pid_t pid) {
  std::string text = ReadText(Cat("/proc/", pid, "/cmdline"));
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

bool Await(std::chrono::seconds at_most, const std::function<bool()>& done) {
  coordinator::SystemClock clock;
  const TimePoint deadline = clock.Now() + at_most;
  while (!done()) {
    if (clock.Now() >= deadline) return false;
    poll(nullptr, 0, 20);
  }
  return true;
}

std::string WhyNoTorch() {
  coordinator::SystemClock clock;
  const Result<coordinator::Finished> finished =
      coordinator::RunToEnd({"/usr/bin/python3", "-c", "import torch.distributed as d; assert d.is_gloo_available()"},
                            clock, std::chrono::minutes(2));
  if (!finished.ok()) return std::string(finished.status().message());
  return finished->exit_code == 0 ? ""
                                  : "/usr/bin/python3 has no torch with gloo (Debian: apt-get install python3-torch)";
}

void Embedded::SetUp() {
  std::string pattern = "/tmp/triodrill-peer-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  base_ = pattern;
  state_dir_ = base_ + "/s";
  const Result<engines::Programs> programs = engines::FindProgramsIn(TRIODRILL_BIN_DIR);
  ASSERT_TRUE(programs.ok()) << programs.status();
  programs_ = *programs;
  engine_ = std::make_unique<engines::LocalEngine>(programs_, state_dir_);
  // The one thing that a machine may refuse: namespaces.
  const Result<coordinator::Finished> may =
      coordinator::RunToEnd({"/usr/bin/unshare", "--user", "--net", "/bin/true"}, clock_, std::chrono::minutes(1));
  if (geteuid() != 0 && (!may.ok() || may->exit_code != 0))
    GTEST_SKIP() << "user namespaces are not allowed here, and we are not root";
}

void Embedded::TearDown() {
  if (engine_ != nullptr) {
    EXPECT_EQ(engine_->Down(), Ok());
  }
  std::error_code error;
  if (!HasFailure()) std::filesystem::remove_all(base_, error);
}

v1::ShadowSpec Embedded::Spec(const std::vector<std::string>& workload, const std::vector<std::string>& env) const {
  v1::ShadowSpec spec;
  spec.set_name("test");
  spec.set_state_dir(state_dir_);
  spec.set_prefix_length(24);
  for (int i = 0; i < 3; ++i) {
    v1::ShadowNode& node = *spec.add_nodes();
    node.set_name(Cat("n", i));
    node.set_address(Cat("10.77.0.", 10 + i));
    node.mutable_agent()->add_argv("/bin/sleep");
    node.mutable_agent()->add_argv("1000000");
    node.mutable_agent()->set_out(Cat(state_dir_, "/nodes/n", i, "/agent.log"));
    node.mutable_agent()->set_err(node.agent().out());
    for (const std::string& argument : workload) node.mutable_workload()->add_argv(argument);
    for (const std::string& entry : env) node.mutable_workload()->add_env(entry);
    node.mutable_workload()->set_out(Cat(RunDir(), "/n", i, ".out"));
    node.mutable_workload()->set_err(Cat(RunDir(), "/n", i, ".err"));
  }
  return spec;
}

engines::EngineStatus Embedded::Status() const {
  const Result<engines::EngineStatus> status = engine_->GetStatus();
  EXPECT_TRUE(status.ok()) << status.status();
  return status.ok() ? *status : engines::EngineStatus{};
}

}  // namespace triodrill::testing_embedded
