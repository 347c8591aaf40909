#include "drills/shadow/protocol/messages.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "drills/shadow/protocol/tagged_json.h"

namespace triodrill::shadow {

using Json = nlohmann::json;

// Found by the library through the namespace of the messages, so not in an unnamed one.

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hello, rank, pid)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Joined, epoch, step, source)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Failed, epoch, step, error, corrupt_checkpoint)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Saved, step, stage, problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Suspect, step, check, rank, detail)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Join, epoch, rank, world, store, source, step, verify)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Halt, epoch)

void to_json(Json& json, const Stop&) { json = Json::object(); }
void from_json(const Json&, Stop&) {}

// JSON has no number for what a corrupted step may show: a loss or a norm that is not finite travels as null.
void to_json(Json& json, const Beat& beat) {
  json = Json{{"step", beat.step},
              {"phase", beat.phase},
              {"last_line", beat.last_line},
              {"sent_bytes", beat.sent_bytes},
              {"received_bytes", beat.received_bytes},
              {"compute_ns", beat.compute_ns},
              {"wait_ns", beat.wait_ns},
              {"gradient_norm", beat.gradient_norm},
              {"loss", beat.loss}};
}

static double NumberOrNan(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

void from_json(const Json& json, Beat& beat) {
  json.at("step").get_to(beat.step);
  json.at("phase").get_to(beat.phase);
  json.at("last_line").get_to(beat.last_line);
  json.at("sent_bytes").get_to(beat.sent_bytes);
  json.at("received_bytes").get_to(beat.received_bytes);
  json.at("compute_ns").get_to(beat.compute_ns);
  json.at("wait_ns").get_to(beat.wait_ns);
  beat.gradient_norm = NumberOrNan(json.at("gradient_norm"));
  beat.loss = NumberOrNan(json.at("loss"));
}

constexpr std::string_view NameOf(const Hello&) { return "hello"; }
constexpr std::string_view NameOf(const Beat&) { return "beat"; }
constexpr std::string_view NameOf(const Joined&) { return "joined"; }
constexpr std::string_view NameOf(const Failed&) { return "failed"; }
constexpr std::string_view NameOf(const Saved&) { return "saved"; }
constexpr std::string_view NameOf(const Suspect&) { return "suspect"; }
constexpr std::string_view NameOf(const Join&) { return "join"; }
constexpr std::string_view NameOf(const Halt&) { return "halt"; }
constexpr std::string_view NameOf(const Stop&) { return "stop"; }

std::string Encode(const FromTrainer& message) { return EncodeTagged(message); }
std::string Encode(const ToTrainer& message) { return EncodeTagged(message); }
Result<FromTrainer> DecodeFromTrainer(std::string_view text) { return DecodeTagged<FromTrainer>(text, "message"); }
Result<ToTrainer> DecodeToTrainer(std::string_view text) { return DecodeTagged<ToTrainer>(text, "message"); }

}  // namespace triodrill::shadow
