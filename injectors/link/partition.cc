#include "injectors/link/partition.h"

#include <net/if.h>

#include <array>

#include "injectors/journal/record.h"
#include "injectors/link/down.h"
#include "injectors/link/nftables.h"
#include "injectors/link/partition_table.h"
#include "injectors/link/restore.h"
#include "injectors/os/file.h"
#include "injectors/os/step.h"

namespace triodrill {
namespace {

constexpr const char* kKind = "link.partition";

std::string LinkNameNow(const v1::LinkIdentity& identity) {
  std::array<char, IF_NAMESIZE> name{};
  return ::if_indextoname(static_cast<unsigned>(identity.ifindex()), name.data()) == nullptr ? "" : name.data();
}

// Nothing if there is no such table. The table does not go with the interface, so it is looked for whatever became of
// that.
Result<std::optional<PartitionSeen>> LookAtTable(const v1::UndoRecord& record) {
  TRIODRILL_RETURN_IF_ERROR(CheckNamespaceOf(record.fault().target().link()));
  const std::string& table = record.partition().table();
  TRIODRILL_ASSIGN_OR_RETURN(const PartitionOrder order, HowToPartition(record.fault(), table));
  TRIODRILL_ASSIGN_OR_RETURN(const std::string json, ListNftable(table));
  if (json.empty()) return std::optional<PartitionSeen>();
  TRIODRILL_ASSIGN_OR_RETURN(PartitionSeen seen, ReadPartition(json, order, LinkNameNow(order.link)));
  return std::optional<PartitionSeen>(std::move(seen));
}

class LinkPartition final : public Injector {
 public:
  Result<v1::UndoRecord> Prepare(const v1::AimedFault& fault) override {
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_ASSIGN_OR_RETURN(const LinkState link, CheckMayBeFaulted(socket, fault));
    if (link.master_ifindex != 0) {
      return RefuseLink(
          fault, Cat("it is a part of interface ", link.master_ifindex, ", under whose name its packets are filtered"));
    }
    const std::string table = PartitionTableName(fault);
    TRIODRILL_RETURN_IF_ERROR(HowToPartition(fault, table).status());
    TRIODRILL_ASSIGN_OR_RETURN(const std::string taken, ListNftable(table));
    if (!taken.empty()) {
      return absl::FailedPreconditionError(Cat("prepare ", kKind, ": there is a table inet ", table,
                                               " already; remove it, or drill under another name"));
    }
    TRIODRILL_ASSIGN_OR_RETURN(v1::UndoRecord record, NewUndoRecord(fault, LinkResource(fault.target().link())));
    record.mutable_partition()->set_table(table);
    record.set_by_hand(Cat("nft delete table inet ", table));
    return record;
  }

  Status Apply(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(RouteSocket socket, RouteSocket::Open());
    TRIODRILL_RETURN_IF_ERROR(FindLinkForSure(socket, record.fault().target().link()).status());
    TRIODRILL_ASSIGN_OR_RETURN(const PartitionOrder order, HowToPartition(record.fault(), record.partition().table()));
    Step("partition: found");
    TRIODRILL_RETURN_IF_ERROR(RunNftables(PartitionCommands(order), Cat("make table inet ", order.table)));
    Step("partition: table made");
    return Ok();
  }

  Status Revert(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Ok();
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<PartitionSeen> seen, LookAtTable(record));
    if (!seen.has_value() || !seen->ours) return Ok();
    Step("partition: table found");
    // By its handle: one by the same name that was made meanwhile is another's.
    TRIODRILL_RETURN_IF_ERROR(RunNftables(Cat("delete table inet handle ", seen->handle),
                                          Cat("remove table inet ", record.partition().table())));
    Step("partition: table removed");
    return Ok();
  }

  Result<Effect> Inspect(const v1::UndoRecord& record) override {
    TRIODRILL_ASSIGN_OR_RETURN(const bool earlier, FromEarlierBoot(record));
    if (earlier) return Effect{Presence::kAbsent, "recorded on an earlier boot: nftables begin empty with each boot"};
    TRIODRILL_ASSIGN_OR_RETURN(const std::optional<PartitionSeen> seen, LookAtTable(record));
    const std::string table = Cat("table inet ", record.partition().table());
    if (!seen.has_value()) return Effect{Presence::kAbsent, Cat("there is no ", table)};
    if (!seen->ours) return Effect{Presence::kForeign, Cat(table, " was changed: ", seen->difference)};
    return Effect{Presence::kPresent,
                  Cat(table, " reads back, ",
                      seen->packets == 0 ? "no packet met it yet" : Cat(seen->packets, " packets dropped"))};
  }
};

}  // namespace

std::unique_ptr<Injector> MakeLinkPartition() { return std::make_unique<LinkPartition>(); }

v1::Capability ProbeLinkPartition() {
  v1::Capability capability = ProbeLinkDown();
  capability.set_kind(kKind);
  if (!capability.possible()) return capability;
  const Status asked = ProbeNftables();
  capability.set_possible(asked.ok());
  capability.set_reason(asked.ok() ? "nf_tables" : std::string(asked.message()));
  return capability;
}

}  // namespace triodrill
