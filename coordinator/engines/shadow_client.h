// Talks to triodrill-shadow over STATE/shadow.sock: one JSON line there, one back.
#pragma once

#include <string>

#include "coordinator/engines/local_engine.h"
#include "triodrill/status.h"
#include "triodrill/time.h"

namespace triodrill::engines {

// NotFound when nobody listens; Unavailable when there is no answer in time or the connection ends; otherwise the
// answer, which may be a refusal.
Result<std::string> Ask(const std::string& socket_path, const std::string& request, Clock& clock, Nanos at_most);

// The request for one node, or for all when `node` is empty. Pure.
std::string RequestLine(const std::string& verb, const std::string& node = "", bool stay_down = false);

// Ok, or what the sandbox answered. Pure.
Status CheckReply(const std::string& reply);

// Pure.
Result<EngineStatus> ParseStatus(const std::string& reply);

}  // namespace triodrill::engines
