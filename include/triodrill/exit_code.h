// Exit codes of `triodrill`, as people and CI read them.
#pragma once

namespace triodrill {

enum class ExitCode {
  kPassed = 0,
  kFailed = 1,
  kInconclusive = 2,
  kRefused = 3,           // by the safety gate; nothing was touched
  kAborted = 4,           // by a person; everything undone
  kUndoNotConfirmed = 5,  // outranks all others
  kUsage = 64,
  kInvalidFile = 65,
  kUnreachable = 69,  // an agent, engine or pipeline
  kInternal = 70,
};

}  // namespace triodrill
