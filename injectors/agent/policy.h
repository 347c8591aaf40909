// The node's own policy: what this node allows, whatever is asked of it. Read once, at start. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "triodrill/status.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/undo.pb.h"

namespace re2 {
class RE2;
}  // namespace re2

namespace triodrill::agent {

// Reads and checks the file. It must be a regular file of root or of this process' user that nobody else may write:
// else whoever may write it could widen what is allowed. The error's message names file, line and column.
Result<v1::AgentPolicySpec> LoadPolicy(const std::string& path);

// The command lines that are never a target.
class Protection {
 public:
  static Result<Protection> Of(const v1::AgentPolicySpec& policy);
  Protection(Protection&&) noexcept;
  Protection& operator=(Protection&&) noexcept;
  ~Protection();

  // Looks at the target as it is now. If its command line cannot be read, the answer is no.
  Status Check(const v1::AimedFault& fault) const;

  // Pure.
  Status CheckCommandLine(const std::string& command_line) const;

 private:
  Protection();
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
};

}  // namespace triodrill::agent
