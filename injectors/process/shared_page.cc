#include "injectors/process/shared_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "injectors/os/fd.h"
#include "injectors/os/file.h"

namespace triodrill {
namespace {

bool IsLinkTo(const std::string& path, std::string_view wanted) {
  std::array<char, 128> link{};
  const ssize_t size = ::readlink(path.c_str(), link.data(), link.size());
  return size > 0 && std::string_view(link.data(), static_cast<size_t>(size)) == wanted;
}

}  // namespace

SharedPage::SharedPage(SharedPage&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}

SharedPage::~SharedPage() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

// None: it is not a page of that kind, and that is no error.
Result<SharedPage> SharedPage::MapIfPage(const std::string& path, const SharedPageKind& kind) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid() && errno == ENOENT) return SharedPage(nullptr, 0);
  if (!fd.valid()) return ErrnoStatus(Cat("open ", kind.name), path);
  struct stat seen {};
  if (::fstat(fd.get(), &seen) != 0) return ErrnoStatus(Cat("look at ", kind.name), path);
  // Without the seals its owner could cut it off under us, which would end this process.
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kNeeded) != kNeeded || seen.st_size != static_cast<off_t>(kind.bytes)) {
    return SharedPage(nullptr, 0);
  }
  void* memory = ::mmap(nullptr, kind.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return ErrnoStatus(Cat("map ", kind.name), path);
  SharedPage page(memory, kind.bytes);
  if (kind.begins_well(memory)) return page;
  return SharedPage(nullptr, 0);
}

Result<SharedPage> SharedPage::Find(const ProcessHandle& process, const SharedPageKind& kind) {
  const std::string directory = Cat("/proc/", process.identity().pid(), "/fd");
  const auto ended = [&] { return absl::NotFoundError(Cat(Describe(process.identity()), " has ended")); };
  const Result<std::vector<std::string>> names = ListDirectory(directory);
  if (process.Ended()) return ended();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::string path = Cat(directory, "/", name);
    if (!IsLinkTo(path, kind.link)) continue;
    Result<SharedPage> page = MapIfPage(path, kind);
    if (process.Ended()) return ended();
    if (!page.ok() || page->get() != nullptr) return page;
  }
  return SharedPage(nullptr, 0);
}

}  // namespace triodrill
