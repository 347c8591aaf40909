#include "drills/shadow/gpu/state_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "absl/strings/str_format.h"
#include "drills/shadow/gpu/page.h"
#include "drills/shadow/gpu/processes.h"
#include "drills/shadow/owned_fd.h"
#include "triodrill/text.h"

namespace triodrill::shadow::gpu {
namespace {

constexpr char kName[] = "Shadow H100 80GB (simulated)";
constexpr uint32_t kFirstBus = 0x10;
constexpr uint32_t kCoolC = 45;

// One step of SplitMix64: neighbouring seeds give unlike numbers.
uint64_t Scatter(uint64_t& seed) {
  seed += 0x9e3779b97f4a7c15;
  uint64_t z = seed;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::string MakeUuid(const Making& making, uint32_t index) {
  uint64_t seed = making.seed;
  for (const char letter : making.node) seed = Scatter(seed) ^ static_cast<unsigned char>(letter);
  seed = Scatter(seed) ^ index;
  const uint64_t high = Scatter(seed);
  const uint64_t low = Scatter(seed);
  return absl::StrFormat("GPU-%08x-%04x-4%03x-8%03x-%012x", high >> 32, high >> 16 & 0xffff, high & 0xfff, low >> 52,
                         low & 0xffffffffffff);
}

void Describe(Gpu& gpu, const Making& making, uint32_t index) {
  Identity& is = gpu.identity;
  absl::SNPrintF(is.uuid, sizeof is.uuid, "%s", MakeUuid(making, index));
  absl::SNPrintF(is.name, sizeof is.name, "%s", kName);
  absl::SNPrintF(is.bus_id, sizeof is.bus_id, "00000000:%02X:00.0", kFirstBus + index);
  is.max_sm_mhz = 1980;
  is.min_sm_mhz = 210;
  is.max_memory_mhz = 2619;
  is.min_limit_mw = 200'000;
  is.max_limit_mw = is.default_limit_mw = 700'000;
  is.demand_mw = 650'000;
  is.slowdown_c = 90;
  gpu.limit_mw = is.default_limit_mw;
  gpu.temperature_c = kCoolC;
}

Status WriteAside(const std::string& aside, const State& state) {
  const OwnedFd fd(open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return ErrnoStatus("open", aside);
  if (write(fd.get(), &state, sizeof state) != static_cast<ssize_t>(sizeof state)) return ErrnoStatus("write", aside);
  if (fsync(fd.get()) != 0) return ErrnoStatus("write through", aside);
  return Ok();
}

}  // namespace

Status MakeState(const std::string& file, const Making& making, bool replace) {
  if (making.gpus < 1 || making.gpus > static_cast<int>(kMostGpus)) {
    return absl::InvalidArgumentError(Cat("make ", file, ": ", making.gpus, " GPUs; may be 1~", kMostGpus));
  }
  const auto state = std::make_unique<State>();
  state->version = kVersion;
  state->bytes = sizeof(State);
  state->count = static_cast<uint32_t>(making.gpus);
  for (uint32_t index = 0; index < state->count; ++index) Describe(state->gpus[index], making, index);
  state->digest = DigestOf(*state);
  state->magic = kMagic;
  const std::string aside = Cat(file, ".", getpid(), ".new");
  Status status = WriteAside(aside, *state);
  if (status.ok() && renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, file.c_str(), replace ? 0 : RENAME_NOREPLACE) != 0) {
    status = ErrnoStatus("make", file);
  }
  if (!status.ok()) unlink(aside.c_str());
  return status;
}

Result<MappedState> MappedState::Open(const std::string& file, bool write) {
  const Mapping mapping = MapState(file.c_str(), write);
  if (mapping.state != nullptr) return MappedState(mapping.state);
  if (errno != 0) return ErrnoStatus("map the shadow GPUs of", file);
  return absl::DataLossError(Cat("shadow GPUs ", file, ": the file ", mapping.problem,
                                 "; make it anew with triodrill-gpu-state make --replace"));
}

MappedState::~MappedState() {
  if (state_ != nullptr) Unmap(state_);
}

Result<HeldGpu> HeldGpu::Open(const std::string& file, int index) {
  TRIODRILL_ASSIGN_OR_RETURN(MappedState state, MappedState::Open(file, true));
  if (index < 0 || index >= static_cast<int>(state->count)) {
    return absl::InvalidArgumentError(Cat("GPU ", index, ": ", file, " has ", state->count));
  }
  const uint64_t process = ProcessWord(getpid());
  Gpu& gpu = state->gpus[index];
  // By the list people and faults find the GPU of a process; what does not fit into it computes all the same.
  AddProcess(gpu, process);
  return HeldGpu(std::move(state), static_cast<uint32_t>(index), process);
}

HeldGpu::~HeldGpu() {
  if (state_.mapped()) RemoveProcess(gpu(), process_);
}

std::string HeldGpu::Name() const { return Cat("GPU ", index_, " (", std::string(gpu().identity.uuid), ")"); }

}  // namespace triodrill::shadow::gpu
