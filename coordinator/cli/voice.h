// How the program talks while it works: plain lines with the time since it began, and on a terminal one live line below
// them. Everything goes to standard error; standard output is for results. One thread.
#pragma once

#include <string>

#include "triodrill/time.h"

namespace triodrill::cli {

class Voice {
 public:
  // `quiet` says nothing but problems.
  Voice(Clock& clock, bool quiet);
  ~Voice();
  Voice(const Voice&) = delete;
  Voice& operator=(const Voice&) = delete;

  void Say(const std::string& text);      // progress
  void Problem(const std::string& text);  // also when quiet
  // The live line; drawn at most a few times a second, and only on a terminal.
  void Live(const std::string& text);
  void ClearLive();

  bool terminal() const { return terminal_; }

 private:
  void Line(const std::string& text);

  Clock& clock_;
  const bool quiet_;
  const bool terminal_;
  const TimePoint began_;
  TimePoint drawn_{};
  bool live_ = false;
};

}  // namespace triodrill::cli
