// The signals that process.kill may send: those whose default action ends the process. One table for whoever reads a
// drill and for whoever sends the signal.
#pragma once

#include <csignal>
#include <string_view>

namespace triodrill {

struct FatalSignal {
  std::string_view name;
  int number;
};

inline constexpr FatalSignal kFatalSignals[] = {
    {"SIGKILL", SIGKILL}, {"SIGTERM", SIGTERM}, {"SIGINT", SIGINT},   {"SIGQUIT", SIGQUIT},
    {"SIGHUP", SIGHUP},   {"SIGABRT", SIGABRT}, {"SIGSEGV", SIGSEGV}, {"SIGBUS", SIGBUS},
    {"SIGFPE", SIGFPE},   {"SIGILL", SIGILL},   {"SIGSYS", SIGSYS},   {"SIGXCPU", SIGXCPU},
};

}  // namespace triodrill
