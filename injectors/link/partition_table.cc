#include "injectors/link/partition_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"

namespace triodrill {
namespace {

using Json = nlohmann::json;

// Before the connection tracking and every table that filters (-300, -200, 0), so that no other rule lets a packet by.
constexpr int kPriority = -310;

struct Way {
  std::string chain;      // also the hook
  std::string interface;  // key of `meta`
  std::string field;      // of the IP header
};
std::vector<Way> WaysOf(const PartitionOrder& order) {
  std::vector<Way> ways;
  if (order.inbound) ways.push_back({"input", "iif", "saddr"});
  if (order.outbound) ways.push_back({"output", "oif", "daddr"});
  return ways;
}

std::string Protocol(const NetworkPrefix& prefix) { return prefix.family == AF_INET ? "ip" : "ip6"; }

std::string RuleText(const Way& way, const std::string& interface, const std::string& protocol,
                     const std::string& prefix) {
  return Cat(way.chain, " ", way.interface, " ", interface, " ", protocol, " ", way.field, " ", prefix,
             " counter drop");
}

std::vector<std::string> ExpectedLines(const PartitionOrder& order) {
  std::vector<std::string> lines;
  for (const Way& way : WaysOf(order)) {
    lines.push_back(Cat("chain ", way.chain, " type filter hook ", way.chain, " priority ", kPriority, " accept"));
  }
  for (const Way& way : WaysOf(order)) {
    for (const NetworkPrefix& peer : order.peers) {
      lines.push_back(RuleText(way, Cat(order.link.ifindex()), Protocol(peer), peer.Text()));
    }
  }
  return lines;
}

std::string PrefixText(const Json& right) {
  if (right.is_string()) return right.get<std::string>();
  const Json& prefix = right.at("prefix");
  return Cat(prefix.at("addr").get<std::string>(), "/", prefix.at("len").get<int>());
}

// A rule in the words of RuleText; anything else in words that no rule of ours has. Json's exceptions are its caller's.
std::string RuleSeen(const Json& rule, int ifindex, std::string_view link_name_now, uint64_t* packets) {
  const Json& parts = rule.at("expr");
  const auto chain = rule.at("chain").get<std::string>();
  std::string unknown = Cat("rule ", rule.dump());
  if (parts.size() != 4 || !parts[3].contains("drop") || !parts[2].contains("counter")) return unknown;
  if (rule.contains("comment")) return unknown;
  const Json& interface = parts[0].at("match");
  const Json& address = parts[1].at("match");
  if (interface.at("op") != "==" || address.at("op") != "==") return unknown;
  // An index is shown by the name that it has now, or as a number where it has none.
  auto name = interface.at("right").get<std::string>();
  if (!link_name_now.empty() && name == link_name_now) name = Cat(ifindex);
  const Json& header = address.at("left").at("payload");
  const Way way{chain, interface.at("left").at("meta").at("key").get<std::string>(),
                header.at("field").get<std::string>()};
  *packets += parts[2].at("counter").at("packets").get<uint64_t>();
  return RuleText(way, name, header.at("protocol").get<std::string>(), PrefixText(address.at("right")));
}

std::string ChainSeen(const Json& chain) {
  return Cat("chain ", chain.at("name").get<std::string>(), " type ", chain.value("type", "-"), " hook ",
             chain.value("hook", "-"), " priority ", chain.value("prio", 0), " ", chain.value("policy", "-"));
}

// Chains first, then rules, each in the table's order.
std::vector<std::string> LinesSeen(const Json& objects, const PartitionOrder& order, std::string_view link_name_now,
                                   PartitionSeen* seen) {
  std::vector<std::string> chains;
  std::vector<std::string> rules;
  for (const Json& object : objects) {
    const std::string kind = object.begin().key();
    const Json& value = object.begin().value();
    if (kind == "metainfo") continue;
    if (kind == "table") {
      seen->handle = value.at("handle").get<int64_t>();
      if (value.contains("flags")) rules.push_back(Cat("flags ", value.at("flags").dump()));
    } else if (kind == "chain") {
      chains.push_back(ChainSeen(value));
    } else if (kind == "rule") {
      rules.push_back(RuleSeen(value, order.link.ifindex(), link_name_now, &seen->packets));
    } else {
      rules.push_back(Cat(kind, " ", value.dump()));
    }
  }
  chains.insert(chains.end(), rules.begin(), rules.end());
  return chains;
}

}  // namespace

Result<PartitionOrder> HowToPartition(const v1::AimedFault& fault, std::string table) {
  const v1::LinkPartition& with = fault.with().link_partition();
  PartitionOrder order{std::move(table), fault.target().link(), {}, false, false};
  auto peers = ParseNetworkPrefixes(with.peers());
  if (!peers.ok()) {
    return absl::InvalidArgumentError(Cat("prepare ", fault.kind(), ": peers: ", peers.status().message()));
  }
  order.peers = *std::move(peers);
  order.inbound = with.direction() == v1::BOTH || with.direction() == v1::INBOUND;
  order.outbound = with.direction() == v1::BOTH || with.direction() == v1::OUTBOUND;
  if (order.inbound || order.outbound) return order;
  return absl::InvalidArgumentError(Cat("prepare ", fault.kind(), ": no direction; give inbound, outbound or both"));
}

std::string PartitionTableName(const v1::AimedFault& fault) {
  std::string name = Cat("triodrill_", fault.run_id(), "_", fault.shot());
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !absl::ascii_isalnum(c); }, '_');
  return name;
}

std::string PartitionCommands(const PartitionOrder& order) {
  std::string text = Cat("create table inet ", order.table, "\n");
  for (const Way& way : WaysOf(order)) {
    Append(text, "add chain inet ", order.table, " ", way.chain, " { type filter hook ", way.chain, " priority ",
           kPriority, "; policy accept; }\n");
  }
  for (const Way& way : WaysOf(order)) {
    for (const NetworkPrefix& peer : order.peers) {
      Append(text, "add rule inet ", order.table, " ",
             RuleText(way, Cat(order.link.ifindex()), Protocol(peer), peer.Text()), "\n");
    }
  }
  return text;
}

Result<PartitionSeen> ReadPartition(const std::string& json, const PartitionOrder& order,
                                    std::string_view link_name_now) {
  PartitionSeen seen;
  std::vector<std::string> lines;
  try {
    lines = LinesSeen(Json::parse(json).at("nftables"), order, link_name_now, &seen);
  } catch (const Json::exception& exception) {
    // What has another shape than ours was not written by us; what is no JSON at all tells nothing.
    if (!Json::accept(json)) {
      return absl::InternalError(Cat("read table inet ", order.table, ": unexpected form: ", exception.what()));
    }
    seen.difference = Cat("it holds what was not written by this fault: ", exception.what());
    return seen;
  }
  const std::vector<std::string> expected = ExpectedLines(order);
  const auto [ours, theirs] = std::mismatch(expected.begin(), expected.end(), lines.begin(), lines.end());
  seen.ours = ours == expected.end() && theirs == lines.end();
  if (!seen.ours) {
    seen.difference = Cat("`", theirs == lines.end() ? "nothing" : *theirs, "` where `",
                          ours == expected.end() ? "nothing" : *ours, "` was written");
  }
  return seen;
}

}  // namespace triodrill
