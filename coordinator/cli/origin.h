// Who runs this, and from where: what the kernel knows, and what a CI says of itself. Of the environment nothing else
// is read.
#pragma once

#include <string>

#include "triodrill/v1/timeline.pb.h"

namespace triodrill::cli {

// The login under which this process runs; "uid 1234" where there is none of that number.
std::string LoginName();

// uid, login, terminal, job, host and kernel, the operator's name among them.
void FillOrigin(v1::RunStarted& started);

// A CI's address of this job, from the variables of GitLab, Jenkins and GitHub; "" outside of them. No control
// characters, 256 bytes at most.
std::string CiJob();

}  // namespace triodrill::cli
