// Ctrl-C and its kind, as a word to whoever listens instead of a death: everything that is open is undone first.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace triodrill::cli {

// Blocks SIGINT, SIGTERM, SIGHUP for the whole process and waits for them on a thread of its own. Make it before any
// other thread starts, so that all inherit the mask.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Who is told, on the waiting thread, with the signal's name; empty: nobody (the signal is remembered).
  void TellTo(std::function<void(const std::string&)> listener);

  bool came() const;

 private:
  void Wait(const std::stop_token& stop);

  mutable std::mutex mutex_;
  std::function<void(const std::string&)> listener_;
  std::string first_;
  int count_ = 0;
  std::jthread thread_;
};

}  // namespace triodrill::cli
