#include "drills/shadow/trainer/progress_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "triodrill/text.h"

namespace triodrill::shadow::trainer {

Result<ProgressLog> ProgressLog::Open(const std::string& file, Vitals& vitals) {
  OwnedFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.valid()) return ErrnoStatus("open", file);
  return ProgressLog(std::move(fd), vitals);
}

void ProgressLog::Line(std::string_view line) {
  const std::string whole = Cat(line, "\n");
  if (write(fd_.get(), whole.data(), whole.size()) == static_cast<ssize_t>(whole.size())) vitals_->SetLastLine(line);
}

}  // namespace triodrill::shadow::trainer
