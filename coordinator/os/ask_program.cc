#include "coordinator/os/ask_program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "coordinator/os/child_process.h"
#include "triodrill/text.h"

namespace triodrill::coordinator {
namespace {

constexpr size_t kMostWords = 1024;  // of standard error

// A pipe of which both ends are closed at the end.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() = default;
  ~Pipe() {
    Close(ends[0]);
    Close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool Open() { return pipe2(ends, O_CLOEXEC) == 0; }
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

// One read; closes the end when there is nothing more to come. What is beyond `most` is counted and let go.
void ReadSome(int& fd, std::string& text, size_t most, bool& more) {
  char bytes[16384];
  const ssize_t got = read(fd, bytes, sizeof bytes);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) return Pipe::Close(fd);
  const size_t taken = std::min(static_cast<size_t>(got), most - text.size());
  text.append(bytes, taken);
  more = more || taken < static_cast<size_t>(got);
}

struct Heard {
  std::string out;
  std::string words;
  bool more_out = false;
  bool more_words = false;
};

// Until both ends are closed, too much was said, or the time is up.
void Listen(Pipe& out, Pipe& err, size_t most, Clock& clock, TimePoint deadline, Heard& heard) {
  while ((out.ends[0] >= 0 || err.ends[0] >= 0) && !heard.more_out) {
    const Nanos left = std::max(Nanos(0), Nanos(deadline - clock.Now()));
    pollfd look[] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
    const int found = poll(look, 2, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
    if (found < 0 && errno != EINTR) return;
    if (found == 0 && left == Nanos(0)) return;
    if (found <= 0) continue;
    if (look[0].revents != 0) ReadSome(out.ends[0], heard.out, most, heard.more_out);
    if (look[1].revents != 0) ReadSome(err.ends[0], heard.words, kMostWords, heard.more_words);
  }
}

}  // namespace

Result<Reply> AskProgram(const Question& question, Clock& clock, Nanos at_most) {
  Pipe out;
  Pipe err;
  if (!out.Open() || !err.Open()) return ErrnoStatus("pipe for", question.argv[0]);
  Reply reply;
  reply.at.earliest = clock.Now();
  TRIODRILL_ASSIGN_OR_RETURN(
      const pid_t child,
      Spawn({.argv = question.argv, .env = question.env, .out_fd = out.ends[1], .err_fd = err.ends[1]}));
  Pipe::Close(out.ends[1]);
  Pipe::Close(err.ends[1]);
  Heard heard;
  const TimePoint deadline = reply.at.earliest + at_most;
  Listen(out, err, question.most_output, clock, deadline, heard);
  const Result<int> ended = AwaitExit(child, clock, heard.more_out ? clock.Now() : deadline);
  reply.at.latest = clock.Now();
  if (heard.more_out) {
    return absl::ResourceExhaustedError(
        Cat("ask ", question.argv[0], ": it said more than ", question.most_output, " bytes"));
  }
  const std::string words(absl::StripAsciiWhitespace(heard.words));
  if (!ended.ok()) {
    return absl::DeadlineExceededError(
        Cat("ask ", question.argv[0], ": no answer in time", words.empty() ? "" : ": ", words));
  }
  if (*ended != 0) {
    return absl::UnavailableError(
        Cat("ask ", question.argv[0], ": it ended with ", *ended, words.empty() ? "" : ": ", words));
  }
  reply.out = std::move(heard.out);
  return reply;
}

}  // namespace triodrill::coordinator
