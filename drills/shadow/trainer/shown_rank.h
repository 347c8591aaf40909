// The rank that this process shows to whoever looks at it from outside, in its command line and its environment. A
// launcher starts a standby with kStandbyRank in both places; when it becomes a rank, it writes that over the very
// bytes that the kernel shows in /proc/PID. So an agent that knows ranks by those knows this one from then on, and
// never before. Used by the training thread only; nothing to clean up.
#pragma once

namespace triodrill::shadow::trainer {

class ShownRank {
 public:
  // Where they stand; nowhere if this is no standby. `argv` is main's own.
  static ShownRank Find(int argc, char** argv);
  // Once. A rank that has more digits than there is room for is not shown.
  void Show(int rank);

 private:
  char* argument_ = nullptr;
  char* environment_ = nullptr;
};

}  // namespace triodrill::shadow::trainer
