// The control thread, which is the program's main one: takes orders, sends heartbeats and what the others have to say,
// and makes the training thread let go of what a newer order has made void.
#pragma once

#include "drills/shadow/trainer/mesh_guard.h"
#include "drills/shadow/trainer/orders.h"
#include "drills/shadow/trainer/outbox.h"
#include "triodrill/time.h"

namespace triodrill::shadow::trainer {

struct ControlFds {
  int control = -1;  // SOCK_SEQPACKET: the launcher's other end
  int wakeup = -1;   // eventfd of the outbox
  int signals = -1;  // signalfd: SIGTERM, SIGINT
};

class Control {
 public:
  Control(ControlFds fds, Nanos heartbeat, Clock& clock, Orders& orders, MeshGuard& guard, Outbox& outbox,
          Vitals& vitals);
  // Until told to stop, by order, by signal, or by the launcher's end closing.
  void Run();

 private:
  // False: it is time to end.
  bool Receive();
  // What waits, as far as the launcher takes it now; false if it is gone.
  bool Send();
  bool SendBeat();
  int Timeout() const;

  const ControlFds fds_;
  const Nanos heartbeat_;
  Clock& clock_;
  Orders& orders_;
  MeshGuard& guard_;
  Outbox& outbox_;
  Vitals& vitals_;
  TimePoint next_beat_;
  bool behind_ = false;  // the training thread is still at an older order
  bool full_ = false;    // the launcher does not take more at the moment
};

}  // namespace triodrill::shadow::trainer
