// YAML text -> a message of the one schema. Pure: strings in, a message or diagnostics out. Nothing thrown by yaml-cpp
// passes, whatever the text; its size (1 MiB), depth (32) and aliases (none) are bounded before anything is built.
//
// Thread-safe: no state is kept between calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/schema/diagnostic.h"
#include "triodrill/status.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace triodrill {

inline constexpr std::string_view kApiVersion = "triodrill/v1";
inline constexpr size_t kMaxTextBytes = size_t{1} << 20;
inline constexpr int kMaxYamlDepth = 32;

struct Place {
  int line = 0;    // from 1
  int column = 0;  // from 1, in bytes
  friend bool operator==(const Place&, const Place&) = default;
};

// Where each field that was written stands: "spec.faults[0].hold.for" -> the place of its value. The parameters of a
// fault stand directly below `with`: "spec.faults[0].with.quota".
class Places {
 public:
  void Set(std::string path, Place place) { places_[std::move(path)] = place; }

  // Whether the field was written at all: a written zero and an absent field are the same in the message.
  bool Written(std::string_view path) const { return places_.contains(path); }

  // The place of the field, or of the nearest thing around it that was written.
  Place Find(std::string_view path) const;

  // A diagnostic that points at `path`.
  Diagnostic At(std::string_view path, std::string_view file, std::string what, std::string hint = "") const;

 private:
  std::map<std::string, Place, std::less<>> places_;
};

// Reads one document `apiVersion: triodrill/v1`, `kind: <name of out's type>`, and the fields of `out`.
// True if there was nothing to complain of; otherwise `problems` has grown, in the order of the text, and `out` holds
// what could be read. Defaults are not filled in: see defaults.h.
bool ParseYaml(std::string_view text, std::string_view file, google::protobuf::Message& out, Places& places,
               std::vector<Diagnostic>& problems);

// The `kind` of a document ("Drill"), without reading the rest; nullopt, and `problems` has grown, if it has none that
// is known. The second form's error is the first diagnostic's Text().
std::optional<std::string> PeekKind(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems);
Result<std::string> PeekKind(std::string_view text, std::string_view file);

}  // namespace triodrill
