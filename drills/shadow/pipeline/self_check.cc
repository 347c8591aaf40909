// The trio of self-checks that names a node when nobody can be blamed: loop-back bandwidth, links to every other node,
// and an all-gather over pairs of nodes in two rounds. The ranks are halted meanwhile.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "drills/shadow/pipeline/machine.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr Nanos kAnswerSlack = std::chrono::milliseconds(1500);  // starting the probe, and the way back

bool Settled(const CheckState& check, TimePoint now) { return check.done || now > check.deadline; }

}  // namespace

int Machine::OrderNodeCheck(std::map<int, CheckState>& checks, const std::string& node, int gpu) {
  RunCheck order;
  order.id = s_.next_check++;
  order.kind = "node";
  order.gpu = gpu;
  for (const auto& [name, other] : s_.nodes) {
    const TopologyNode* facts = config_.topology.Find(name);
    if (name == node || !other.connected || other.probe_port == 0 || facts == nullptr) continue;
    order.peers.push_back({name, facts->address, other.probe_port});
  }
  CheckState check;
  check.node = node;
  check.deadline = now_ + ToNanos(spec_.self_check().timeout()) * 2 + kAnswerSlack;  // loop-back, then links
  check.peers = order.peers.size();
  checks[order.id] = check;
  actions_.push_back(Order{node, order});
  return order.id;
}

void Machine::StartSelfCheck(std::string why) {
  Log("self_check_started", {{"why", why}});
  s_.self_check = SelfCheckState{};
  s_.self_check.why = std::move(why);
  s_.repair.open = true;
  HaltAll();
  for (const auto& [name, node] : s_.nodes) {
    if (node.connected) OrderNodeCheck(s_.self_check.checks, name);
  }
  Enter(Stage::kSelfCheck);
}

void Machine::OrderGather(const std::string& one, const std::string& other) {
  SelfCheckState& check = s_.self_check;
  const std::string store = Cat(config_.run_dir, "/store/check-", s_.next_check);
  actions_.push_back(MakeStore{store, false});
  std::pair<int, int> ids;
  for (int rank = 0; rank < 2; ++rank) {
    RunCheck order;
    order.id = s_.next_check++;
    order.kind = "gather";
    order.rank = rank;
    order.store = store;
    (rank == 0 ? ids.first : ids.second) = order.id;
    CheckState state;
    state.node = rank == 0 ? one : other;
    state.deadline = now_ + ToNanos(spec_.self_check().timeout()) + kAnswerSlack;
    check.checks[order.id] = state;
    actions_.push_back(Order{state.node, order});
  }
  check.pairs.emplace_back(one, other);
  check.pair_checks.push_back(ids);
}

void Machine::RunSelfCheck() {
  SelfCheckState& check = s_.self_check;
  for (const auto& [id, one] : check.checks) {
    if (!Settled(one, now_)) return;
  }
  if (check.round == 0) BlameNodes();
  for (size_t i = 0; i < check.pairs.size(); ++i) {
    const CheckState& one = check.checks[check.pair_checks[i].first];
    const CheckState& other = check.checks[check.pair_checks[i].second];
    if (one.ok && other.ok) continue;
    const auto& [a, b] = check.pairs[i];
    Append(check.detail, check.detail.empty() ? "" : "; ", "all-gather ", a, "+", b, " failed: ",
           !one.detail.empty() && !one.ok ? one.detail
           : other.detail.empty()         ? "no answer"
                                          : other.detail);
    if (check.round == 1) check.failed.emplace_back(a, b);
    if (check.round == 2) check.bad.insert(a);  // the other one of the pair is known to be good
  }
  check.checks.clear();
  NextRound();
}

// Whom more than half of the links from it and to it say is out of reach, who did not answer, whose loop-back is slow.
void Machine::BlameNodes() {
  SelfCheckState& check = s_.self_check;
  std::map<std::string, int> failures;
  const int nodes = static_cast<int>(check.checks.size());
  const auto note = [&](const std::string& text) { Append(check.detail, check.detail.empty() ? "" : "; ", text); };
  for (const auto& [id, one] : check.checks) {
    if (!one.done) {
      check.bad.insert(one.node);
      note(Cat(one.node, ": no answer"));
    } else if (!one.ok && one.unreachable.empty()) {
      check.bad.insert(one.node);
      note(Cat(one.node, ": ", one.detail));
    }
    failures[one.node] += static_cast<int>(one.unreachable.size());
    for (const std::string& peer : one.unreachable) ++failures[peer];
  }
  for (const auto& [node, count] : failures) {
    if (count == 0 || count <= nodes - 1) continue;  // of 2 (nodes - 1) looks
    check.bad.insert(node);
    note(Cat("link ", node, ": ", count, " of ", 2 * (nodes - 1), " looks from it and to it failed"));
  }
}

void Machine::NextRound() {
  SelfCheckState& check = s_.self_check;
  const std::vector<std::pair<std::string, std::string>> pairs = std::move(check.pairs);
  check.pairs.clear();
  check.pair_checks.clear();
  ++check.round;
  if (check.round == 1) {
    std::vector<std::string> nodes;
    for (const auto& [name, node] : s_.nodes) {
      if (node.connected && !check.bad.contains(name)) nodes.push_back(name);
    }
    for (size_t i = 0; i + 1 < nodes.size(); i += 2) OrderGather(nodes[i], nodes[i + 1]);
    if (nodes.size() % 2 == 1 && nodes.size() > 1) OrderGather(nodes.back(), nodes.front());
    if (!check.pairs.empty()) return;
  }
  if (check.round == 2 && !check.failed.empty()) {
    std::set<std::string> doubtful;
    for (const auto& [a, b] : check.failed) doubtful.insert({a, b});
    std::vector<std::string> good;
    for (const auto& [a, b] : pairs) {
      for (const std::string& node : {a, b}) {
        if (!doubtful.contains(node)) good.push_back(node);
      }
    }
    if (good.empty() || spec_.self_check().rounds() < 2) {
      check.bad.insert(doubtful.begin(), doubtful.end());
    } else {
      size_t next = 0;
      for (const std::string& node : doubtful) OrderGather(node, good[next++ % good.size()]);
      return;
    }
  }
  ConcludeSelfCheck();
}

void Machine::ConcludeSelfCheck() {
  const SelfCheckState check = std::move(s_.self_check);
  s_.self_check = SelfCheckState{};
  Log("self_checked", {{"bad", check.bad.empty() ? "-" : absl::StrJoin(check.bad, ",")},
                       {"detail", check.detail.empty() ? "every node is well" : check.detail}});
  std::vector<std::string> serving;
  std::set<Slot> bad_slots;
  for (const std::string& node : check.bad) {
    bool serves = false;
    for (const auto& [slot, state] : s_.slots) {
      if (slot.node != node) continue;
      serves = serves || state.service == Service::kServing;
      if (state.service == Service::kServing) bad_slots.insert(slot);
    }
    if (serves) serving.push_back(node);
  }
  for (const std::string& node : check.bad) {
    if (std::find(serving.begin(), serving.end(), node) != serving.end()) continue;
    for (const auto& [slot, state] : s_.slots) {
      if (slot.node == node) Isolate(slot, Level::kNode, check.detail);
    }
  }
  if (serving.empty()) return Diagnose({Fault::kSilent, "", -1, "self_check", check.detail});
  if (static_cast<int>(serving.size()) <= spec_.isolation().nodes_at_once()) {
    for (const std::string& node : serving) {
      Diagnose({Fault::kSilent, node, -1, "self_check", check.detail}, Level::kNode);
    }
    return;
  }
  for (const ParallelGroup& group : config_.topology.groups) {
    if (static_cast<int>(group.members.size()) < World() &&
        std::includes(group.members.begin(), group.members.end(), bad_slots.begin(), bad_slots.end())) {
      return Diagnose({Fault::kSilent, serving.front(), -1, "self_check", check.detail}, Level::kGroup, group.name);
    }
  }
  Diagnose({Fault::kSilent, serving.front(), -1, "self_check", check.detail}, Level::kJob);
}

}  // namespace triodrill::shadow::pipeline
