#include "coordinator/cli/voice.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_format.h"
#include "reports/render/escape.h"

namespace triodrill::cli {
namespace {

constexpr Nanos kRedraw = std::chrono::milliseconds(200);

size_t Columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

}  // namespace

Voice::Voice(Clock& clock, bool quiet)
    : clock_(clock), quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1), began_(clock.Now()) {}

Voice::~Voice() { ClearLive(); }

void Voice::ClearLive() {
  if (!live_) return;
  std::fputs("\r\x1b[K", stderr);
  live_ = false;
}

void Voice::Line(const std::string& text) {
  ClearLive();
  const double since = std::chrono::duration<double>(clock_.Now() - began_).count();
  std::fprintf(stderr, "%s\n", absl::StrFormat("%7.1fs  %s", since, PlainText(text, 2000)).c_str());
  std::fflush(stderr);
}

void Voice::Say(const std::string& text) {
  if (!quiet_) Line(text);
}

void Voice::Problem(const std::string& text) { Line(text); }

void Voice::Live(const std::string& text) {
  if (quiet_ || !terminal_ || clock_.Now() - drawn_ < kRedraw) return;
  drawn_ = clock_.Now();
  live_ = true;
  std::fprintf(stderr, "\r\x1b[K%s", PlainText(text, Columns() - 1).c_str());
  std::fflush(stderr);
}

}  // namespace triodrill::cli
