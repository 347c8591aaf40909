#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "coordinator/load/rules.h"
#include "triodrill/text.h"

namespace triodrill::load {
namespace {

constexpr int kFirstOrdinaryPort = 1024;
constexpr int kLastPort = 65535;

void CheckUrl(const std::string& url, const std::string& path, const Complaints& complaints) {
  const size_t scheme = url.find("://");
  const std::string name = url.substr(0, scheme);
  const bool known = scheme != std::string::npos && (name == "http" || name == "https");
  if (known && url.size() > scheme + 3 && url.find_first_of("?#@ ", scheme) == std::string::npos) return;
  complaints.Add(path, Cat("`", url, "` is no address of a server"),
                 "write http://HOST:PORT, and a token in token_file");
}

void CheckListen(const std::string& listen, const std::string& path, const Complaints& complaints) {
  const size_t colon = listen.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(listen.substr(colon + 1), &port) || port < 1 ||
      port > kLastPort) {
    return complaints.Add(path, Cat("`", listen, "` is no ADDRESS:PORT"), "like 127.0.0.1:9099");
  }
  if (port < kFirstOrdinaryPort) {
    complaints.Add(path, Cat("port ", port, " is one of root's"), "use a port from 1024 on");
  }
}

// One who takes part of the path that a signal needs.
void CheckNeeds(const v1::Signal& signal, const v1::Monitoring& monitoring, const std::string& path,
                const Complaints& complaints) {
  const auto needs = [&](const char* field, bool there) {
    if (there) return;
    complaints.Add(path, Cat("the profile does not say where to find it: no `", field, "`"),
                   Cat("add spec.monitoring.", field));
  };
  if (signal.has_alertmanager_webhook()) needs("webhook", !monitoring.webhook().empty());
  if (signal.has_alertmanager()) needs("alertmanager", !monitoring.alertmanager().empty());
  if (signal.has_prometheus()) needs("prometheus", !monitoring.prometheus().empty());
}

bool IsLabelName(std::string_view name) {
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

// "${label.NAME}", or "${address.NAME}" where an address may stand.
bool IsLabelReference(std::string_view text, bool may_be_address) {
  if (!text.starts_with("${") || !text.ends_with("}")) return false;
  text = text.substr(2, text.size() - 3);
  for (const std::string_view kind : {"label.", "address."}) {
    if (text.starts_with(kind) && (kind == "label." || may_be_address)) return IsLabelName(text.substr(kind.size()));
  }
  return false;
}

}  // namespace

void CheckMonitoring(const v1::PipelineSpec& spec, const Complaints& complaints) {
  const v1::Monitoring& monitoring = spec.monitoring();
  if (!spec.has_monitoring()) return;
  const std::string path = "spec.monitoring";
  if (!monitoring.prometheus().empty()) CheckUrl(monitoring.prometheus(), path + ".prometheus", complaints);
  if (!monitoring.alertmanager().empty()) CheckUrl(monitoring.alertmanager(), path + ".alertmanager", complaints);
  if (!monitoring.webhook().empty()) CheckListen(monitoring.webhook(), path + ".webhook", complaints);
  if (monitoring.prometheus().empty() && monitoring.alertmanager().empty()) {
    complaints.Add(path, "neither a Prometheus nor an Alertmanager: that they stay as they are could not be proved",
                   "add prometheus: and alertmanager:");
  }
}

void CheckLabelSignal(const v1::Signal& signal, const v1::Monitoring& monitoring, const std::string& path,
                      const Complaints& complaints) {
  CheckNeeds(signal, monitoring, path, complaints);
  CheckLabelMeaning(signal, "alert or sample", path, complaints);
}

void CheckLabelMeaning(const v1::Signal& signal, std::string_view source, const std::string& path,
                       const Complaints& complaints) {
  const v1::Meaning means = signal.means();
  if (means == v1::PROGRESS || means == v1::RESTORED || means == v1::STATE) {
    complaints.Add(
        path + ".means",
        Cat("no ", source, " can mean ", absl::AsciiStrToLower(v1::Meaning_Name(means)), ": it holds no step"),
        "take it from the job's log");
  }
  if (!signal.has_of()) return;
  const std::string& node = signal.of().node();
  if (node.empty()) return complaints.Add(path + ".of", "`of` names no node", "add node: \"${label.NAME}\" or another");
  if (node.find("${") != std::string::npos && !IsLabelReference(node, /*may_be_address=*/true)) {
    complaints.Add(path + ".of.node", Cat("`", node, "` names nobody"),
                   "write a node, ${label.NAME} or ${address.NAME}");
  }
  const std::string& slot = signal.of().local_rank();
  const bool number = slot.size() <= 4 && std::all_of(slot.begin(), slot.end(), absl::ascii_isdigit);
  if (!number && !IsLabelReference(slot, /*may_be_address=*/false)) {
    complaints.Add(path + ".of.local_rank", Cat("`", slot, "` names nobody"), "write a number or ${label.NAME}");
  }
}

}  // namespace triodrill::load
