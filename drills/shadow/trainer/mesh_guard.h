// What another thread may do for a training thread that waits in a collective: make it stop waiting.
//
// Debian's gloo (of 2022) is no help: closing a pair wakes nobody; a wait that is aborted is followed by the
// algorithm's next wait; and when a connection breaks, a send that waits in the pair's queue and a receive that has
// begun are not told, so that their collective waits for its time-out. Hence two things at once: the sockets are shut
// down, so that nothing new can begin, and the waits of the collective under way are aborted, again and again until it
// has come back.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

namespace gloo::transport {
class UnboundBuffer;
}

namespace triodrill::shadow::trainer {

class MeshGuard {
 public:
  // ---- training thread

  // All connections stand: from now on fewer sockets than now are a broken connection. Until Forget().
  void Connected();
  void Forget();
  // Of the collective under way; valid until Leave().
  void Enter(std::vector<gloo::transport::UnboundBuffer*> buffers);
  // False if its waits were aborted, so that what it brought means nothing.
  bool Leave();

  // ---- control thread

  // Shuts down every TCP socket of this process (it has no others than gloo's): listening, connecting, connected, but
  // only one that was there at the look before. To be repeated until the training thread has come back, since it may be
  // about to open another.
  void Interrupt();
  // To be called now and then: frees a collective that goes on waiting although a connection has been lost for a while.
  void CheckConnections();

 private:
  void AbortWaits();
  // How many sockets there are. One that was accepted this moment is not shut down yet: gloo's listening thread first
  // asks who is at its other end, and ends the process if both ends are shut down by then.
  int Look(bool shut_down);

  std::mutex mutex_;
  std::vector<gloo::transport::UnboundBuffer*> buffers_;
  bool aborted_ = false;
  int sockets_ = 0;          // that stood once all were connected; 0: not watched
  int looks_lost_ = 0;       // in a row at which there were fewer
  std::set<uint64_t> seen_;  // the sockets of the last look, by the kernel's own number
};

}  // namespace triodrill::shadow::trainer
