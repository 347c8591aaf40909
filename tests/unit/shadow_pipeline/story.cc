#include "tests/unit/shadow_pipeline/story.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {

Topology FourNodesAndTwoSpares() {
  v1::PartitionSpec spec;
  int last = 10;
  for (const char* name : {"n0", "n1", "n2", "n3", "s0", "s1"}) {
    v1::Node* node = spec.add_nodes();
    node->set_name(name);
    node->set_slots(2);
    node->set_address(Cat("10.77.0.", last++));
    if (name[0] == 's') spec.add_spares(name);
  }
  for (const char* name : {"n0", "n1", "n2", "n3"}) {
    v1::Group* group = spec.add_topology();
    group->set_name(Cat("replica-", name));
    group->set_level(v1::DOMAIN_GROUP);
    group->add_members(name);
  }
  return *TopologyOf(spec);
}

Policy DefaultPolicy() {
  return *ParsePolicy("apiVersion: triodrill/v1\nkind: ShadowPolicy\nmetadata: {name: test}\nspec: {}\n",
                      "policy.yaml");
}

Policy Story::WithDefect(Defect defect) {
  Policy policy = DefaultPolicy();
  policy.defect = defect;
  return policy;
}

Story::Story(Policy policy)
    : config{FourNodesAndTwoSpares(), std::move(policy), "/run"}, now(FromNanos(1'000'000'000'000)) {
  state = Begin(config, now);
}

void Story::Give(const Event& event) {
  Stepped stepped = Step(config, std::move(state), event, now);
  state = std::move(stepped.state);
  for (const Action& action : stepped.actions) Perform(action);
}

void Story::Perform(const Action& action) {
  if (const Order* order = std::get_if<Order>(&action)) return Obey(*order);
  if (const LogLine* line = std::get_if<LogLine>(&action)) lines_.emplace_back(now, FormatLine(*line));
  if (const Truth* one = std::get_if<Truth>(&action)) truth.push_back(*one);
  if (const LedgerEntry* entry = std::get_if<LedgerEntry>(&action)) ledger.push_back(*entry);
  if (const ReadCheckpoints* read = std::get_if<ReadCheckpoints>(&action); read != nullptr && storage_answers) {
    answers_.push_back(Checkpoints{read->request, checkpoints});
  }
}

void Story::Obey(const Order& order) {
  if (!nodes_.contains(order.node)) return;
  if (const StartTrainer* start = std::get_if<StartTrainer>(&order.order)) {
    starts.push_back(*start);
    Process process;
    process.incarnation = start->incarnation;
    process.rank = start->rank;
    processes_[start->slot] = process;
    answers_.push_back(Started{start->slot, start->incarnation, 100, ""});
    if (mute.contains(start->slot)) {
      paused_.insert(start->slot);
      return;
    }
    answers_.push_back(Said{start->slot, start->incarnation, Hello{start->rank, 100}});
  } else if (const KillTrainer* kill = std::get_if<KillTrainer>(&order.order)) {
    kills.push_back(*kill);
    const auto found = processes_.find(kill->slot);
    if (found == processes_.end() || found->second.incarnation != kill->incarnation) return;
    if (immortal.contains(kill->slot)) return;
    processes_.erase(found);
    paused_.erase(kill->slot);
    hung_.erase(kill->slot);
    answers_.push_back(Closed{kill->slot, kill->incarnation});
    answers_.push_back(Exited{kill->slot, kill->incarnation, 0, 9});
  } else if (const Tell* tell = std::get_if<Tell>(&order.order)) {
    const auto found = processes_.find(tell->slot);
    if (found == processes_.end() || found->second.incarnation != tell->incarnation) return;
    Process& process = found->second;
    if (const Join* join = std::get_if<Join>(&tell->message)) {
      joins.push_back(*join);
      last_join_ = *join;
      process.told_epoch = join->epoch;
      process.rank = join->rank;
      if (CanMove(tell->slot)) process.phase = "join";
    } else {
      process.phase = "halted";
      process.epoch = 0;
    }
  } else if (const RunCheck* check = std::get_if<RunCheck>(&order.order)) {
    checks.push_back(*check);
    CheckDone done{check->id, order.node, checks_pass, checks_pass ? "well" : "loop-back slow", {}};
    for (const Peer& peer : check->peers) {
      if (cut_.contains(order.node) || cut_.contains(peer.node)) done.unreachable.push_back(peer.node);
    }
    done.ok = done.ok && done.unreachable.empty() && !sick.contains(order.node);
    if (sick_gpus.contains(Slot{order.node, check->gpu})) {
      done = {check->id, order.node, false, Cat("GPU ", check->gpu, ": lost"), {}, true};
    }
    answers_.push_back(done);
  }
}

Slot Story::SlotOfRank(int rank) const { return state.placement[static_cast<size_t>(rank)]; }

bool Story::CanMove(const Slot& slot) const { return !paused_.contains(slot) && !hung_.contains(slot); }

void Story::JoinTogether() {
  std::set<int> there;
  bool linked = true;
  for (const auto& [slot, process] : processes_) {
    if (process.phase == "join" && process.told_epoch == state.epoch && CanMove(slot)) there.insert(process.rank);
    if (process.phase == "join" && cut_.contains(slot.node)) linked = false;
  }
  if (static_cast<int>(there.size()) < config.topology.world || !linked || last_join_.epoch != state.epoch) return;
  const bool damaged = last_join_.source == "checkpoint" && last_join_.verify && corrupt.contains(last_join_.step);
  const bool peers = last_join_.source == "peers";
  int64_t step = last_join_.step;
  for (const auto& [slot, process] : processes_) {
    if (peers && process.phase == "join") step = std::max(step, process.step);
  }
  std::vector<Event> said;
  for (auto& [slot, process] : processes_) {
    if (process.phase != "join") continue;
    if (peers && !peers_agree) {
      process.phase = "halted";
      said.push_back(Said{slot, process.incarnation, Failed{state.epoch, step, "no step of every shard", false}});
    } else if (damaged) {
      process.phase = "halted";
      said.push_back(Said{slot, process.incarnation, Failed{state.epoch, last_join_.step, "checksum", true}});
    } else {
      process.phase = "compute";
      process.epoch = state.epoch;
      process.step = step;
      said.push_back(Said{slot, process.incarnation, Joined{state.epoch, process.step, last_join_.source}});
    }
  }
  for (const Event& event : said) Give(event);
}

// One step of all, if all are there to make it.
void Story::StepTogether() {
  std::set<int> there;
  bool linked = true;
  for (const auto& [slot, process] : processes_) {
    if (process.epoch == state.epoch && process.epoch > 0 && CanMove(slot)) there.insert(process.rank);
    linked = linked && !(process.epoch == state.epoch && cut_.contains(slot.node));
  }
  const bool moves = linked && static_cast<int>(there.size()) == config.topology.world;
  for (auto& [slot, process] : processes_) {
    if (process.epoch != state.epoch || process.epoch == 0 || !CanMove(slot)) continue;
    process.phase = moves ? "compute" : "reduce";
    if (!moves) continue;
    ++process.step;
    process.bytes += 1000;
    if (process.step % 10 == 0 && (checkpoints.empty() || checkpoints.front() < process.step)) {
      checkpoints.insert(checkpoints.begin(), process.step);
      if (checkpoints.size() > 5) checkpoints.pop_back();
    }
  }
}

void Story::TickOnce() {
  now += std::chrono::milliseconds(50);
  std::deque<Event> answers;
  answers.swap(answers_);
  for (const Event& event : answers) Give(event);
  JoinTogether();
  beat_ = !beat_;
  if (beat_) {
    StepTogether();
    std::vector<Event> beats;
    for (const auto& [slot, process] : processes_) {
      if (paused_.contains(slot) || !nodes_.contains(slot.node)) continue;
      Beat beat;
      beat.step = process.step;
      beat.phase = process.phase;
      beat.last_line = Cat("step=", process.step);
      beat.sent_bytes = process.bytes;
      const auto slow = slow_.find(slot);
      const double compute = 40e6 * (slow == slow_.end() ? 1 : slow->second);
      beat.compute_ns = static_cast<int64_t>(compute);
      beat.wait_ns = static_cast<int64_t>(100e6 - compute);
      beats.push_back(Said{slot, process.incarnation, beat});
    }
    for (const Event& event : beats) Give(event);
  }
  Give(Tick{});
}

void Story::Pass(Nanos time) {
  for (const TimePoint end = now + time; now < end;) TickOnce();
}

bool Story::Until(std::string_view text, Nanos limit) {
  for (const TimePoint end = now + limit; now < end;) {
    if (Count(text) > 0) return true;
    TickOnce();
  }
  return Count(text) > 0;
}

void Story::Train(Nanos time) {
  for (const TopologyNode& node : config.topology.nodes) {
    nodes_.insert(node.name);
    Give(NodeHello{node.name, node.slots, node.address, node.spare, 7000, {}});
  }
  Until("restored step=");
  Pass(time);
}

void Story::KillRank(int rank, int signal) {
  const Slot slot = SlotOfRank(rank);
  const int incarnation = processes_[slot].incarnation;
  processes_.erase(slot);
  paused_.erase(slot);
  Give(Closed{slot, incarnation});
  Give(Exited{slot, incarnation, 0, signal});
}

void Story::KillStandby(const Slot& slot) {
  const int incarnation = processes_[slot].incarnation;
  processes_.erase(slot);
  Give(Closed{slot, incarnation});
  Give(Exited{slot, incarnation, 0, 9});
}

void Story::LoseNode(const std::string& node) {
  nodes_.erase(node);
  for (auto at = processes_.begin(); at != processes_.end();) {
    at = at->first.node == node ? processes_.erase(at) : std::next(at);
  }
  Give(NodeGone{node});
}

void Story::SuspectBy(int rank_named, const std::string& check) {
  std::vector<Event> said;
  for (const auto& [slot, process] : processes_) {
    if (process.epoch != state.epoch || process.epoch == 0) continue;
    said.push_back(Said{slot, process.incarnation, Suspect{process.step + 1, check, rank_named, "differs"}});
  }
  for (auto& [slot, process] : processes_) process.epoch = 0;
  for (const Event& event : said) Give(event);
}

std::vector<std::string> Story::Lines(std::string_view event) const {
  std::vector<std::string> found;
  for (const auto& [time, line] : lines_) {
    if (line.starts_with(Cat(event, " "))) found.push_back(line);
  }
  return found;
}

std::string Story::All() const {
  std::string all;
  for (const auto& [time, line] : lines_) Append(all, (ToNanos(time) - 1'000'000'000'000) / 1'000'000, " ", line, "\n");
  return all;
}

int Story::Count(std::string_view text) const {
  return static_cast<int>(std::count_if(lines_.begin(), lines_.end(),
                                        [&](const auto& line) { return line.second.find(text) != std::string::npos; }));
}

TimePoint Story::TimeOf(std::string_view text) const {
  for (const auto& [time, line] : lines_) {
    if (line.find(text) != std::string::npos) return time;
  }
  return TimePoint::max();
}

}  // namespace triodrill::shadow::pipeline
