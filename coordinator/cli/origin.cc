#include "coordinator/cli/origin.h"

#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "reports/evidence/files.h"
#include "triodrill/text.h"

namespace triodrill::cli {
namespace {

constexpr size_t kLongestJob = 256;

std::string NameOf(uid_t uid) {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, room.data(), room.size(), &found) != 0 || found == nullptr) return Cat("uid ", uid);
  return found->pw_name;
}

// Kept by the kernel's audit from the login on, over sudo and su; unset outside of a login.
std::string WhoLoggedIn() {
  const Result<std::string> text = ReadWholeFile("/proc/self/loginuid");
  uint32_t uid = UINT32_MAX;
  if (!text.ok()) return "";
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), uid);
  return error != std::errc() || uid == UINT32_MAX ? "" : NameOf(uid);
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string LoginName() { return NameOf(geteuid()); }

std::string CiJob() {
  std::string job = Variable("CI_JOB_URL");
  if (job.empty()) job = Variable("BUILD_URL");
  if (job.empty() && !Variable("GITHUB_RUN_ID").empty()) {
    job = Cat(Variable("GITHUB_SERVER_URL"), "/", Variable("GITHUB_REPOSITORY"), "/actions/runs/",
              Variable("GITHUB_RUN_ID"));
  }
  // An address may carry a password.
  const size_t scheme = job.find("://");
  const size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t at = job.find('@', host);
  if (at != std::string::npos && at < job.find('/', host)) job.erase(host, at + 1 - host);
  job.resize(std::min(job.size(), kLongestJob));
  std::erase_if(job, [](unsigned char c) { return c < 0x20 || c >= 0x7f; });
  return job;
}

void FillOrigin(v1::RunStarted& started) {
  started.set_operator_name(LoginName());
  started.set_uid(geteuid());
  started.set_login(WhoLoggedIn());
  std::array<char, 256> terminal{};
  if (ttyname_r(STDIN_FILENO, terminal.data(), terminal.size()) == 0) started.set_terminal(terminal.data());
  started.set_job(CiJob());
  utsname machine{};
  if (uname(&machine) != 0) return;
  started.set_host(machine.nodename);
  started.set_kernel(Cat(machine.sysname, " ", machine.release));
}

}  // namespace triodrill::cli
