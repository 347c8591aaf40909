#include "tests/unit/collective/ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "injectors/os/clock.h"

namespace triodrill::testing {
namespace {

std::vector<std::string> EnvironmentOf(const JobShape& shape, int rank) {
  std::vector<std::string> all = {Cat("RANK=", rank), Cat("LD_LIBRARY_PATH=", shape.library)};
  std::string preloaded = shape.preload ? TRIODRILL_NCCL_SHIM : "";
  if (shape.cuda) preloaded += Cat(preloaded.empty() ? "" : ":", TRIODRILL_FAKE_CUDA);
  if (!preloaded.empty()) all.push_back(Cat("LD_PRELOAD=", preloaded));
  if (shape.audit) all.push_back(Cat("LD_AUDIT=", TRIODRILL_NCCL_AUDIT));
  all.insert(all.end(), shape.environment.begin(), shape.environment.end());
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Ranks::Ranks(const JobShape& shape) {
  ::signal(SIGPIPE, SIG_IGN);  // a rank that has ended is told by its answer
  static int made = 0;
  id_ = Cat("/dev/shm/triodrill-fake-nccl-test-", ::getpid(), "-", ++made);
  const int results = ::memfd_create("results", 0);
  const size_t bytes = kResultBytes * static_cast<size_t>(shape.ranks);
  if (results < 0 || ::ftruncate(results, static_cast<off_t>(bytes)) != 0) {
    trouble_ = "no memory for results";
    return;
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, results, 0);
  results_ = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
  for (int rank = 0; rank < shape.ranks; ++rank) Start(shape, rank, results);
  ::close(results);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int answer = Answer(rank);
    if (answer != 0 && trouble_.empty()) trouble_ = Cat("rank ", rank, " answers ", answer);
  }
}

void Ranks::Start(const JobShape& shape, int rank, int results) {
  int to[2];
  int from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> arguments = {shape.program, Cat(rank),    Cat(shape.ranks),
                                        id_,           Cat(results), shape.blocking ? "1" : "0"};
  std::vector<std::string> environment = EnvironmentOf(shape, rank);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(to[0], STDIN_FILENO);
    ::dup2(from[1], STDOUT_FILENO);
    ::execve(shape.program, argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  members_.push_back({pid, to[1], from[0]});
}

Ranks::~Ranks() {
  for (const Member& member : members_) {
    ::close(member.to);
    ::close(member.from);
    // Killed: a rank may be held in a call.
    ::kill(member.pid, SIGKILL);
    ::waitpid(member.pid, nullptr, 0);
  }
  if (results_ != nullptr) ::munmap(results_, kResultBytes * members_.size());
  ::unlink(id_.c_str());
}

v1::ProcessIdentity Ranks::identity(int rank) const { return IdentifyProcess(pid(rank)).value(); }

Result<ShimPage> Ranks::Page(int rank) const {
  TRIODRILL_ASSIGN_OR_RETURN(const ProcessHandle process, ProcessHandle::Open(identity(rank)));
  return ShimPage::Open(process);
}

void Ranks::Tell(int rank, const std::string& line) {
  const std::string text = line + "\n";
  const ssize_t written = ::write(members_[static_cast<size_t>(rank)].to, text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) trouble_ = Cat("rank ", rank, " is not told");
}

void Ranks::TellAll(const std::string& line) {
  for (int rank = 0; rank < count(); ++rank) Tell(rank, line);
}

bool Ranks::Readable(int rank, int milliseconds) {
  pollfd waited{members_[static_cast<size_t>(rank)].from, POLLIN, 0};
  return ::poll(&waited, 1, milliseconds) > 0;
}

int Ranks::Answer(int rank, int seconds) {
  std::string line;
  while (line.empty() || line.back() != '\n') {
    if (!Readable(rank, seconds * 1000)) return -2;
    char c = 0;
    if (::read(members_[static_cast<size_t>(rank)].from, &c, 1) != 1) return -1;
    line.push_back(c);
  }
  return std::atoi(line.c_str() + std::strlen("done "));
}

int Ranks::AnswerAll(int seconds) {
  int worst = 0;
  for (int rank = 0; rank < count(); ++rank) {
    const int answer = Answer(rank, seconds);
    if (answer != 0) worst = answer;
  }
  return worst;
}

const char* Ranks::Sent(int rank, uint64_t call, const Sizes& sizes, size_t width) const {
  return results_ + kResultBytes * static_cast<size_t>(rank) + call * (sizes.send + sizes.recv) * width;
}

const char* Ranks::Received(int rank, uint64_t call, const Sizes& sizes, size_t width) const {
  return Sent(rank, call, sizes, width) + sizes.send * width;
}

std::string CallLine(collective::Operation operation, nccl::DataType type, uint64_t count, uint64_t seed,
                     uint64_t calls, const char* mode) {
  return Cat("call ", static_cast<int>(operation), " ", type, " ", count, " ", seed, " ", calls, " ", mode);
}

collective::RuleOrder RuleFor(collective::Operation operation, collective::Action action, collective::Moment moment) {
  collective::RuleOrder order{};
  order.operations = 1u << operation;
  order.comm_rank = -1;
  order.peer = -1;
  order.burst = 1;
  order.action = action;
  order.moment = moment;
  order.deadline_boottime_ns = Nanos(SinceBoot() + std::chrono::hours(1)).count();
  order.corruption.change = corruption::kFlip;
  order.corruption.pick = corruption::kRun;
  order.corruption.count = 1;
  order.corruption.adjacent = 1;
  return order;
}

}  // namespace triodrill::testing
