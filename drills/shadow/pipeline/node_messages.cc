#include "drills/shadow/pipeline/node_messages.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "drills/shadow/protocol/tagged_json.h"

namespace triodrill {

using Json = nlohmann::json;

// Found by the library through the namespace of the messages, so not in an unnamed one.
static void to_json(Json& json, const Slot& slot) { json = slot.Name(); }
static void from_json(const Json& json, Slot& slot) {
  const auto parsed = ParseSlot(json.get<std::string>());
  if (!parsed) throw std::invalid_argument("'" + json.get<std::string>() + "' is no slot");
  slot = *parsed;
}

namespace shadow {

static void to_json(Json& json, const FromTrainer& message) { json = Encode(message); }
static void from_json(const Json& json, FromTrainer& message) {
  Result<FromTrainer> decoded = DecodeFromTrainer(json.get<std::string>());
  if (!decoded.ok()) throw std::invalid_argument(std::string(decoded.status().message()));
  message = *std::move(decoded);
}
static void to_json(Json& json, const ToTrainer& message) { json = Encode(message); }
static void from_json(const Json& json, ToTrainer& message) {
  Result<ToTrainer> decoded = DecodeToTrainer(json.get<std::string>());
  if (!decoded.ok()) throw std::invalid_argument(std::string(decoded.status().message()));
  message = *std::move(decoded);
}

namespace pipeline {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunningTrainer, slot, incarnation, rank, epoch)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeHello, node, slots, address, spare, probe_port, trainers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Said, slot, incarnation, message)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Started, slot, incarnation, pid, problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Closed, slot, incarnation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Exited, slot, incarnation, code, signal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ErrorLine, slot, incarnation, line)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeReport, node, received_bytes, sent_bytes, log_age_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CheckDone, id, node, ok, detail, unreachable, gpu_sick)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(XidSeen, slot, xid, line)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StartTrainer, slot, incarnation, rank, checks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KillTrainer, slot, incarnation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tell, slot, incarnation, message)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Peer, node, address, port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunCheck, id, kind, peers, rank, store, gpu)

static void to_json(Json& json, const StopNode&) { json = Json::object(); }
static void from_json(const Json&, StopNode&) {}

constexpr std::string_view NameOf(const NodeHello&) { return "hello"; }
constexpr std::string_view NameOf(const Said&) { return "said"; }
constexpr std::string_view NameOf(const Started&) { return "started"; }
constexpr std::string_view NameOf(const Closed&) { return "closed"; }
constexpr std::string_view NameOf(const Exited&) { return "exited"; }
constexpr std::string_view NameOf(const ErrorLine&) { return "error_line"; }
constexpr std::string_view NameOf(const NodeReport&) { return "report"; }
constexpr std::string_view NameOf(const CheckDone&) { return "check_done"; }
constexpr std::string_view NameOf(const XidSeen&) { return "xid"; }
constexpr std::string_view NameOf(const StartTrainer&) { return "start"; }
constexpr std::string_view NameOf(const KillTrainer&) { return "kill"; }
constexpr std::string_view NameOf(const Tell&) { return "tell"; }
constexpr std::string_view NameOf(const RunCheck&) { return "check"; }
constexpr std::string_view NameOf(const StopNode&) { return "stop"; }

std::string Encode(const FromNode& message) { return EncodeTagged(message); }
std::string Encode(const ToNode& message) { return EncodeTagged(message); }
Result<FromNode> DecodeFromNode(std::string_view text) { return DecodeTagged<FromNode>(text, "message of a node"); }
Result<ToNode> DecodeToNode(std::string_view text) { return DecodeTagged<ToNode>(text, "message of a node"); }

}  // namespace pipeline
}  // namespace shadow
}  // namespace triodrill
