#include "injectors/gpu/kernel_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "injectors/os/fd.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

constexpr const char* kPriority = "<3>";

std::string& Path() {
  static auto* const path = new std::string("/dev/kmsg");
  return *path;
}

struct Log {
  UniqueFd fd;
  bool device = false;
  uint64_t size = 0;  // of a file
};

// Anything else than these two could be made to keep us waiting.
Result<Log> Open(const std::string& path, int flags) {
  Log log;
  log.fd = UniqueFd(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!log.fd.valid()) return ErrnoStatus("open the kernel log", path);
  struct stat facts {};
  if (::fstat(log.fd.get(), &facts) != 0) return ErrnoStatus("look at the kernel log", path);
  log.device = S_ISCHR(facts.st_mode);
  log.size = static_cast<uint64_t>(facts.st_size);
  if (log.device || S_ISREG(facts.st_mode)) return log;
  return absl::InvalidArgumentError(Cat("open the kernel log ", path, ": it is neither the device nor a plain file"));
}

// Each record that the kernel still has, oldest first.
Status ReadDevice(const Log& log, const std::string& path, const std::function<void(const KernelRecord&)>& see) {
  std::array<char, 8192> bytes{};
  while (true) {
    const ssize_t got = ::read(log.fd.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EAGAIN) return Ok();                  // that was the last one
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;  // some were overwritten meanwhile
    if (got < 0) return ErrnoStatus("read the kernel log", path);
    if (got == 0) return Ok();
    TRIODRILL_ASSIGN_OR_RETURN(const KernelRecord record, ParseKernelRecord({bytes.data(), static_cast<size_t>(got)}));
    see(record);
  }
}

Result<std::string> ReadFileFrom(const Log& log, const std::string& path, uint64_t position) {
  std::string text;
  std::array<char, 8192> bytes{};
  while (true) {
    const ssize_t got = ::pread(log.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(position + text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("read the kernel log", path);
    if (got == 0) return text;
    text.append(bytes.data(), static_cast<size_t>(got));
  }
}

}  // namespace

void SetKernelLog(std::string path) { Path() = std::move(path); }
const std::string& KernelLog() { return Path(); }

Status CheckKernelLog(const std::string& path) { return Open(path, O_RDWR | O_APPEND).status(); }

Result<KernelRecord> ParseKernelRecord(std::string_view bytes) {
  const size_t header = bytes.find(';');
  KernelRecord record;
  const std::vector<std::string> fields = absl::StrSplit(View(bytes.substr(0, header)), ',');
  if (header == std::string_view::npos || fields.size() < 3 || !absl::SimpleAtoi(fields[1], &record.number)) {
    return absl::InternalError(Cat("parse a record of the kernel log: unexpected form '", bytes.substr(0, 80), "'"));
  }
  const std::string_view text = bytes.substr(header + 1);
  record.text = std::string(text.substr(0, text.find('\n')));
  return record;
}

Result<uint64_t> EndOfKernelLog(const std::string& path) {
  TRIODRILL_ASSIGN_OR_RETURN(const Log log, Open(path, O_RDONLY));
  if (!log.device) return log.size;
  uint64_t next = 0;
  TRIODRILL_RETURN_IF_ERROR(ReadDevice(log, path, [&](const KernelRecord& record) { next = record.number + 1; }));
  return next;
}

Status WriteToKernelLog(const std::string& path, std::string_view line) {
  TRIODRILL_ASSIGN_OR_RETURN(const Log log, Open(path, O_WRONLY | O_APPEND));
  const std::string bytes = Cat(log.device ? kPriority : "", line, "\n");
  const ssize_t wrote = ::write(log.fd.get(), bytes.data(), bytes.size());
  if (wrote == static_cast<ssize_t>(bytes.size())) return Ok();
  if (wrote < 0) return ErrnoStatus("write to the kernel log", path);
  return absl::DataLossError(Cat("write to the kernel log ", path, ": only ", wrote, " bytes were taken"));
}

Result<bool> IsInKernelLog(const std::string& path, std::string_view line, uint64_t position) {
  TRIODRILL_ASSIGN_OR_RETURN(const Log log, Open(path, O_RDONLY));
  bool found = false;
  if (log.device) {
    TRIODRILL_RETURN_IF_ERROR(ReadDevice(log, path, [&](const KernelRecord& record) {
      found = found || (record.number >= position && record.text == line);
    }));
    return found;
  }
  TRIODRILL_ASSIGN_OR_RETURN(const std::string text, ReadFileFrom(log, path, position));
  for (const absl::string_view one : absl::StrSplit(text, '\n')) found = found || one == View(line);
  return found;
}

}  // namespace triodrill
