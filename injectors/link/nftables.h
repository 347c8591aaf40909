// nftables through libnftables, in the network namespace of the calling thread. Each call is one context of the library
// and one transaction of the kernel: all of it, or nothing. Any thread, one at a time.
#pragma once

#include <string>

#include "triodrill/status.h"

namespace triodrill {

// Runs commands of nftables' own language.
Status RunNftables(const std::string& commands, const std::string& what);

// The table (family inet) as the library's JSON, with handles; "" if there is none by that name.
Result<std::string> ListNftable(const std::string& table);

// Reads the list of tables. Fails where the kernel has no nf_tables, or this process may not.
Status ProbeNftables();

}  // namespace triodrill
