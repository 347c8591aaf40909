#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "coordinator/load/rules.h"
#include "triodrill/fatal_signals.h"
#include "triodrill/network_prefix.h"
#include "triodrill/schema/catalogue.h"
#include "triodrill/schema/nearest.h"
#include "triodrill/schema/units.h"
#include "triodrill/text.h"
#include "triodrill/time.h"

namespace triodrill::load {
namespace {

// The checks of one fault; `path` is "spec.faults[0]".
class FaultCheck {
 public:
  FaultCheck(const v1::Fault& fault, std::string path, const Complaints& complaints)
      : fault_(fault), path_(std::move(path)), complaints_(complaints) {}

  void Run() {
    const FaultRow* row = FindFaultRow(fault_.inject());
    if (row == nullptr) return;  // refused by the schema
    Role(*row, "inject");
    if (fault_.has_otherwise()) Otherwise(*row);
    Target();
    Start();
    Hold(*row);
    Signal(fault_.with(), "with");
    Signal(fault_.otherwise().with(), "otherwise.with");
    Addresses(fault_.with(), "with");
    Addresses(fault_.otherwise().with(), "otherwise.with");
  }

 private:
  void Add(std::string_view field, std::string what, std::string hint) const {
    complaints_.Add(Cat(path_, ".", field), std::move(what), std::move(hint));
  }
  bool Written(std::string_view field) const { return complaints_.places.Written(Cat(path_, ".", field)); }

  void Role(const FaultRow& row, const char* where) const {
    const std::string role = absl::AsciiStrToLower(v1::Role_Name(fault_.target().role()));
    if (role == row.facts.role()) return;
    Add("target.role", Cat(row.kind, " (`", where, "`) is aimed at a ", row.facts.role(), ", not at a ", role),
        Cat("write role: ", row.facts.role()));
  }

  void Otherwise(const FaultRow& row) const {
    const FaultRow* other = FindFaultRow(fault_.otherwise().inject());
    if (other == nullptr) return;
    if (other == &row) return Add("otherwise.inject", Cat(row.kind, " instead of itself"), "name another fault");
    if (other->facts.role() == row.facts.role()) return Role(*other, "otherwise");
    Add("otherwise.inject",
        Cat(other->kind, " is aimed at a ", other->facts.role(), ", ", row.kind, " at a ", row.facts.role()),
        "both must fit the one target");
  }

  void Target() const {
    const v1::Target& target = fault_.target();
    const bool link = target.role() == v1::LINK;
    if (Written("target.nodes") && target.nodes().empty()) Add("target.nodes", "no node is selected", kNoneMeansAll);
    if (Written("target.ranks") && target.ranks().empty()) Add("target.ranks", "no rank is selected", kNoneMeansAll);
    CheckUnique(target.nodes(), path_ + ".target.nodes", "the node", complaints_);
    std::set<int> ranks(target.ranks().begin(), target.ranks().end());
    if (static_cast<int>(ranks.size()) < target.ranks_size()) {
      Add("target.ranks", "a rank is named twice", "name each once");
    }
    if (link && target.interface().empty()) Add("target", "no `interface` for role link", "add interface: eth0");
    if (link && target.ranks_size() > 0) Add("target.ranks", "`ranks` with role link", "name nodes and interface");
    if (!link && !target.interface().empty()) {
      Add("target.interface", "`interface` with role rank", "leave it out, or write role: link");
    }
    Limit(target);
  }

  void Limit(const v1::Target& target) const {
    const int limit = target.limit();
    const std::string raise = "raise `limit` if that many are meant";
    if (target.pick() > limit) {
      return Add("target.pick", Cat("`pick` is ", target.pick(), ", more than the limit of ", limit), raise);
    }
    const bool link = target.role() == v1::LINK;
    const int named = link ? target.nodes_size() : target.ranks_size();
    const char* const field = link ? "target.nodes" : "target.ranks";
    if (named > 0 && target.pick() > named) {
      Add("target.pick", Cat("`pick` is ", target.pick(), " of ", named), "pick no more than are named");
    } else if (target.pick() == 0 && named > limit) {
      Add(field, Cat(named, " targets, more than the limit of ", limit), raise + ", or pick some of them");
    }
  }

  void Start() const {
    const v1::Start& start = fault_.start();
    std::vector<std::string> given;
    for (const char* name : {"after", "at", "step", "when"}) {
      if (Written(Cat("start.", name))) given.emplace_back(name);
    }
    if (given.size() > 1) {
      Add("start." + given[1], Cat("`start` is given twice: `", given[0], "` and `", given[1], "`"),
          "keep one of them");
    }
    if (given.empty() && Written("start")) {
      Add("start", "`start` says not when", "add after: baseline, or at, step, when");
    }
    if (!start.after().empty() && start.after() != "baseline") {
      Add("start.after", Cat("`after` is `", start.after(), "`"), "write after: baseline; nothing else is known");
    }
    static const auto* const kEvents = new std::vector<std::string>{"landed", "detected", "isolated", "cleared"};
    if (!start.when().empty() && std::find(kEvents->begin(), kEvents->end(), start.when()) == kEvents->end()) {
      Add("start.when", Cat("`when` is `", start.when(), "`"), SuggestFrom(start.when(), *kEvents));
    }
    if (!start.when().empty() && start.of().empty()) {
      Add("start.when", "`when` without `of`", "add the id of the fault that is meant");
    }
    if (start.when().empty() && !start.of().empty()) {
      Add("start.of", "`of` without `when`", "add when: landed, detected, isolated or cleared");
    }
  }

  void Hold(const FaultRow& row) const {
    const v1::Hold& hold = fault_.hold();
    if (!fault_.has_hold()) {
      if (row.facts.reversal() == v1::NONE) return;
      return complaints_.Add(path_, Cat("no `hold` for ", row.kind, ", which stays until it is withdrawn"),
                             "add hold: {for: 10s} or hold: {until: isolated, max: 2min}");
    }
    if (hold.has_for_() && !hold.until().empty()) {
      return Add("hold.until", "the hold is bounded twice, by `for` and by `until`", "keep one of them");
    }
    if (!hold.has_for_() && hold.until().empty()) {
      return Add("hold", "the hold is not bounded", "add for: 10s, or until: isolated with max");
    }
    if (!hold.until().empty() && hold.until() != "isolated") {
      return Add("hold.until", Cat("`until` is `", hold.until(), "`"), "write until: isolated; nothing else is known");
    }
    if (!hold.until().empty() && !hold.has_max()) {
      return Add("hold", "`until` without `max`: a pipeline that isolates nothing would never end it", "add max: 2min");
    }
    if (hold.has_for_() && hold.has_max() && ToNanos(hold.max()) < ToNanos(hold.for_())) {
      Add("hold.max", Cat("`max` is ", FormatDuration(hold.max()), ", less than `for`, ", FormatDuration(hold.for_())),
          "leave `max` out");
    }
  }

  // Signals whose default action ends the process.
  void Signal(const v1::Parameters& with, const std::string& where) const {
    if (!with.has_process_kill()) return;
    const std::string& signal = with.process_kill().signal();
    std::vector<std::string> known;
    for (const FatalSignal& fatal : kFatalSignals) {
      if (fatal.name == signal) return;
      known.emplace_back(fatal.name);
    }
    Add(where + ".signal", Cat("`", signal, "` is not a signal that ends a process"), SuggestFrom(signal, known));
  }

  // An empty list is refused by the schema.
  template <typename Texts>
  void Prefixes(const Texts& texts, const std::string& field) const {
    if (texts.empty()) return;
    const Status read = ParseNetworkPrefixes(texts).status();
    if (!read.ok()) Add(field, std::string(read.message()), "addresses and networks, each once");
  }

  void Addresses(const v1::Parameters& with, const std::string& where) const {
    if (with.has_link_partition()) Prefixes(with.link_partition().peers(), where + ".peers");
    if (with.has_link_blackhole()) Prefixes(with.link_blackhole().destinations(), where + ".destinations");
  }

  static constexpr const char* kNoneMeansAll = "leave the key out to mean all of them";

  const v1::Fault& fault_;
  const std::string path_;
  const Complaints& complaints_;
};

}  // namespace

void CheckFault(const v1::DrillSpec& spec, int index, const Complaints& complaints) {
  FaultCheck(spec.faults(index), Cat("spec.faults[", index, "]"), complaints).Run();
}

}  // namespace triodrill::load
