#include "tests/unit/shadow_trainer/job.h"

#include <fcntl.h>
#include <poll.h>
#include <re2/re2.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "triodrill/text.h"

namespace triodrill::shadow::trainer {
namespace {

constexpr char kProgram[] = TRIODRILL_BIN_DIR "/triodrill-trainer";

void AddHashes(const std::string& text, const char* pattern, StateHashes& hashes) {
  re2::StringPiece rest(text);
  const RE2 line(pattern);
  int64_t step = 0;
  int shard = 0;
  std::string hash;
  while (RE2::FindAndConsume(&rest, line, &step, &shard, &hash)) {
    std::vector<std::string>& seen = hashes[step][shard];
    if (std::find(seen.begin(), seen.end(), hash) == seen.end()) seen.push_back(hash);
  }
}

// In the child, after fork.
[[noreturn]] void Exec(const std::vector<std::string>& words, int control, const std::string& errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (control >= 0) {
    // By way of another number: dup2 onto itself would leave the close-on-exec flag.
    const int moved = fcntl(control, F_DUPFD, kControlFd + 1);
    dup2(moved, kControlFd);
    close(moved);
  }
  const int err = open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(err, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

std::string ReadWhole(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Job::Job(JobOptions options) : options_(std::move(options)), ranks_(static_cast<size_t>(options_.world)) {
  std::string pattern = testing::TempDir() + "triodrill-job-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  dir_ = pattern;
}

Job::~Job() {
  for (const Rank& one : ranks_) {
    if (one.pid > 0) kill(one.pid, SIGKILL);
  }
  for (const Rank& one : ranks_) {
    if (one.pid > 0) waitpid(one.pid, nullptr, 0);
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(dir_, ignored)) {
    if (!testing::Test::HasFailure() || entry.path().extension() != ".err") continue;
    std::cerr << entry.path() << ":\n" << ReadWhole(entry.path()) << "\n";
  }
  std::filesystem::remove_all(dir_, ignored);
}

void Job::Start(int number) { StartAs(Cat(number), number); }
void Job::StartStandby(int number) { StartAs(std::string(kStandbyRank), number); }

void Job::StartAs(const std::string& as, int number) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  Rank& one = rank(number);
  one = Rank{};
  one.control.Reset(ends[0]);
  const OwnedFd theirs(ends[1]);
  const std::string world = std::to_string(options_.world);
  const std::string shards = std::to_string(options_.tensor_parallel);
  const std::string local = std::to_string(number % options_.tensor_parallel);
  const std::string node = Cat("n", number / options_.tensor_parallel);
  std::vector<std::string> words = {kProgram,
                                    "--rank",
                                    as,
                                    "--local-rank",
                                    local,
                                    "--world",
                                    world,
                                    "--tensor-parallel",
                                    shards,
                                    "--node",
                                    node,
                                    "--address",
                                    "127.0.0.1",
                                    "--run-dir",
                                    dir_,
                                    "--seed",
                                    "7",
                                    "--step-compute",
                                    options_.step_compute,
                                    "--checkpoint-every",
                                    "10",
                                    "--keep",
                                    "3",
                                    "--heartbeat",
                                    "20ms",
                                    "--checks",
                                    options_.checks};
  if (!options_.gpu_state.empty()) {
    for (const std::string& word :
         {std::string("--gpu-state"), options_.gpu_state, std::string("--gpu"), Cat(number)}) {
      words.push_back(word);
    }
  }
  one.pid = fork();
  ASSERT_GE(one.pid, 0);
  if (one.pid != 0) return;
  setenv("RANK", as.c_str(), 1);
  setenv("LOCAL_RANK", local.c_str(), 1);
  Exec(words, theirs.get(), Cat(dir_, "/", number, ".err"));
}

void Job::StartAll() {
  for (const int number : All()) Start(number);
}

std::vector<int> Job::All() const { return AllBut(-1); }

std::vector<int> Job::AllBut(int number) const {
  std::vector<int> numbers;
  for (int one = 0; one < world(); ++one) {
    if (one != number) numbers.push_back(one);
  }
  return numbers;
}

void Job::Tell(int number, const ToTrainer& order) {
  const std::string text = Encode(order);
  ASSERT_EQ(send(rank(number).control.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

int Job::OrderJoin(Join join) {
  join.epoch = ++epoch_;
  join.world = world();
  join.store = Cat(dir_, "/store-", epoch_);
  std::filesystem::create_directory(join.store);
  for (const int number : All()) {
    join.rank = number;
    Tell(number, join);
  }
  return epoch_;
}

void Job::OrderHalt(const std::vector<int>& numbers) {
  for (const int number : numbers) Tell(number, Halt{epoch_});
}

void Job::Signal(int number, int signal_number) {
  ASSERT_GT(rank(number).pid, 0) << "of nobody, it would go to everybody";
  ASSERT_EQ(kill(rank(number).pid, signal_number), 0);
}

int Job::Reap(int number) {
  int status = -1;
  EXPECT_EQ(waitpid(rank(number).pid, &status, 0), rank(number).pid);
  rank(number).pid = -1;
  return status;
}

void Job::Take(Rank& one) {
  char text[kLongestMessage];
  for (;;) {
    const ssize_t got = recv(one.control.get(), text, sizeof text, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      one.closed = true;
      return;
    }
    const Result<FromTrainer> message = DecodeFromTrainer(std::string_view(text, static_cast<size_t>(got)));
    ASSERT_TRUE(message.ok()) << message.status();
    if (const auto* beat = std::get_if<Beat>(&*message)) {
      one.beat = *beat;
      ++one.beats;
    } else if (const auto* joined = std::get_if<Joined>(&*message)) {
      one.joined.push_back(*joined);
      one.beat.phase = "";  // what it said before is of before
    } else if (const auto* failed = std::get_if<Failed>(&*message)) {
      one.failed.push_back(*failed);
    } else if (const auto* suspect = std::get_if<Suspect>(&*message)) {
      one.suspects.push_back(*suspect);
    } else if (const auto* saved = std::get_if<Saved>(&*message)) {
      one.saved.push_back(*saved);
    }
  }
}

std::string Job::Describe() const {
  std::ostringstream text;
  for (size_t number = 0; number < ranks_.size(); ++number) {
    const Rank& one = ranks_[number];
    text << "rank " << number << ": step " << one.beat.step << " phase " << one.beat.phase
         << (one.closed ? " closed" : "") << " joined " << one.joined.size() << " failed " << one.failed.size();
    if (!one.failed.empty()) text << " (" << one.failed.back().error << ")";
    for (const Suspect& suspect : one.suspects) text << "; " << suspect.check << " " << suspect.rank;
    text << "\n";
  }
  return text.str();
}

testing::AssertionResult Job::Until(const std::function<bool()>& so, int within_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(within_ms);
  for (;;) {
    std::vector<pollfd> polled;
    for (Rank& one : ranks_) {
      if (one.control.valid() && !one.closed) Take(one);
      if (one.control.valid() && !one.closed) polled.push_back({one.control.get(), POLLIN, 0});
    }
    if (so()) return testing::AssertionSuccess();
    if (std::chrono::steady_clock::now() >= deadline) return testing::AssertionFailure() << "not so:\n" << Describe();
    poll(polled.data(), polled.size(), 20);
  }
}

testing::AssertionResult Job::UntilAllJoined(int epoch) {
  return Until([&] {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [&](const Rank& one) { return !one.joined.empty() && one.joined.back().epoch == epoch; });
  });
}

testing::AssertionResult Job::UntilAllFailed(int epoch) {
  return Until([&] {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [&](const Rank& one) { return !one.failed.empty() && one.failed.back().epoch == epoch; });
  });
}

testing::AssertionResult Job::UntilStep(int64_t step) {
  return Until([&] {
    return std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& one) { return one.beat.step >= step; });
  });
}

testing::AssertionResult Job::UntilHalted(const std::vector<int>& numbers, int within_ms) {
  const auto halted = [&](int number) { return rank(number).beat.phase == "halted"; };
  return Until([&] { return std::all_of(numbers.begin(), numbers.end(), halted); }, within_ms);
}

StateHashes Job::Logged() const {
  StateHashes hashes;
  for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
    if (entry.path().extension() != ".log") continue;
    AddHashes(ReadWhole(entry.path()), R"(state step=(\d+) rank=\d+ shard=(\d+) hash=(\w+)\n)", hashes);
  }
  return hashes;
}

StateHashes Job::Reference(int64_t steps) const {
  const std::string out = dir_ + "/reference";
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
    Exec({kProgram, "--reference", "--world", std::to_string(options_.world), "--tensor-parallel",
          std::to_string(options_.tensor_parallel), "--seed", "7", "--steps", std::to_string(steps), "--every", "10"},
         -1, dir_ + "/reference.err");
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  StateHashes hashes;
  AddHashes(ReadWhole(out), R"(state step=(\d+) shard=(\d+) hash=(\w+)\n)", hashes);
  return hashes;
}

}  // namespace triodrill::shadow::trainer
