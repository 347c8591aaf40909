#include "tests/sim/network.h"

#include <algorithm>
#include <utility>

namespace triodrill::sim {

Nanos Network::Latency() {
  const Nanos usual = ground_.random.Between(Nanos(std::chrono::microseconds(40)), Nanos(std::chrono::milliseconds(3)));
  return usual + (slow > Nanos(0) ? ground_.random.Between(Nanos(0), slow) : Nanos(0));
}

void Network::Carry(int node, bool to_node, std::function<void()> what) {
  Stream& stream = streams_[node];
  if (stream.cut) {
    stream.waiting.push_back(
        [this, node, to_node, what = std::move(what)]() mutable { Carry(node, to_node, std::move(what)); });
    return;
  }
  TimePoint& last = to_node ? stream.last_to_node : stream.last_to_coordinator;
  last = std::max(last, ground_.schedule.now() + Latency());
  ground_.schedule.At(last, std::move(what));
}

void Network::Say(int node, const v1::AgentSays& says) {
  const Stream& stream = streams_[node];
  if (!stream.up) return;
  Carry(node, false, [this, node, number = stream.number, says] {
    if (streams_[node].number == number && !coordinator_gone_) ends_.to_coordinator(node, says);
  });
}

void Network::Say(int node, const v1::CoordinatorSays& says) {
  const Stream& stream = streams_[node];
  if (!stream.up) return;
  Carry(node, true, [this, node, number = stream.number, says] {
    if (streams_[node].number == number) ends_.to_node(node, says);
  });
}

void Network::Dial(int node) {
  Stream& stream = streams_[node];
  if (coordinator_gone_) return;
  if (stream.cut) {
    ground_.schedule.In(std::chrono::milliseconds(300), [this, node] { Dial(node); });
    return;
  }
  ground_.schedule.In(Latency(), [this, node] {
    if (coordinator_gone_) return;
    Stream& now = streams_[node];
    if (now.up) ends_.coordinator_lost(node, "its node dialed again");
    now.up = true;
    ++now.number;
    ends_.node_connected(node);
  });
}

void Network::NodeHangsUp(int node) {
  Stream& stream = streams_[node];
  if (!stream.up) return;
  stream.up = false;
  // What it had said before is still under way.
  Carry(node, false, [this, node, number = stream.number] {
    if (streams_[node].number == number && !coordinator_gone_) ends_.coordinator_lost(node, "the stream broke");
  });
}

void Network::CoordinatorHangsUp(int node) {
  Stream& stream = streams_[node];
  if (!stream.up) return;
  stream.up = false;
  Carry(node, true, [this, node, number = stream.number] {
    if (streams_[node].number == number) ends_.node_disconnected(node);
  });
}

void Network::Break(int node) {
  Stream& stream = streams_[node];
  if (!stream.up) return;
  stream.up = false;
  ++stream.number;  // what is under way is lost
  Carry(node, true, [this, node] { ends_.node_disconnected(node); });
  if (coordinator_gone_) return;
  Carry(node, false, [this, node, number = stream.number] {
    if (streams_[node].number == number) ends_.coordinator_lost(node, "the stream broke");
  });
}

void Network::CutOff(int node) { streams_[node].cut = true; }

void Network::Heal(int node) {
  Stream& stream = streams_[node];
  stream.cut = false;
  for (std::function<void()>& waiting : std::exchange(stream.waiting, {})) waiting();
}

}  // namespace triodrill::sim
