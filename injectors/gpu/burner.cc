#include "injectors/gpu/burner.h"

#include <algorithm>
#include <set>

#include "triodrill/kernels/burn_ptx.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

// Before the accounts, on a line of its own.
constexpr size_t kStopRoom = 64;
// Of what a block may ask for: the system keeps some, and the kernel has a word of its own. What is left still fills a
// multiprocessor: no second block fits.
constexpr int kSharedSpare = 2048;
// Larger than any GPU's cache, and little of any GPU's memory.
constexpr size_t kMemoryBytes = size_t{256} << 20;

template <typename T>
T ReadWord(const T* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

}  // namespace

Burner::Account AccountOf(const std::vector<kernels::BurnBlock>& blocks) {
  Burner::Account account;
  std::set<kernels::Word32> counted;
  account.launches = blocks.empty() ? 0 : blocks.front().launches;
  account.least_busy_ns = blocks.empty() ? 0 : blocks.front().busy_ns;
  for (const kernels::BurnBlock& block : blocks) {
    account.launches = std::min<uint64_t>(account.launches, block.launches);
    account.rounds += block.rounds;
    account.busy_ns += block.busy_ns / blocks.size();
    account.least_busy_ns = std::min<uint64_t>(account.least_busy_ns, block.busy_ns);
    if (block.launches > 0 && block.rounds >= block.launches) counted.insert(block.multiprocessor);
  }
  account.multiprocessors = static_cast<int>(counted.size());
  return account;
}

Result<std::unique_ptr<Burner>> Burner::Make(const CudaGpu& gpu, BurnKind kind, int blocks) {
  std::unique_ptr<Burner> burner(new Burner(gpu, std::clamp(blocks, 1, gpu.multiprocessors())));
  TRIODRILL_RETURN_IF_ERROR(burner->MapMemory(kind));
  TRIODRILL_RETURN_IF_ERROR(burner->Load(kind));
  return burner;
}

Status Burner::MapMemory(BurnKind kind) {
  const cuda::Calls& calls = gpu_.calls();
  const size_t bytes = kStopRoom + static_cast<size_t>(blocks_) * sizeof(kernels::BurnBlock);
  TRIODRILL_RETURN_IF_ERROR(gpu_.Check(
      "make mapped memory", calls.cuMemHostAlloc(&mapped_, bytes, cuda::kHostDeviceMap | cuda::kHostPortable)));
  std::fill_n(static_cast<char*>(mapped_), bytes, '\0');
  TRIODRILL_RETURN_IF_ERROR(gpu_.Check("map memory", calls.cuMemHostGetDevicePointer_v2(&mapped_on_gpu_, mapped_, 0)));
  if (kind == BurnKind::kCompute) return Ok();
  TRIODRILL_RETURN_IF_ERROR(gpu_.Check("take 256 MiB of memory", calls.cuMemAlloc_v2(&memory_, kMemoryBytes)));
  vectors_ = kMemoryBytes / kernels::kBurnVectorBytes;
  return Ok();
}

Status Burner::Load(BurnKind kind) {
  const cuda::Calls& calls = gpu_.calls();
  const char* const name = kind == BurnKind::kCompute ? kernels::kBurnCompute : kernels::kBurnMemory;
  TRIODRILL_RETURN_IF_ERROR(gpu_.Check("load the burn", calls.cuModuleLoadData(&module_, kernels::kBurnPtx)));
  TRIODRILL_RETURN_IF_ERROR(gpu_.Check("find the burn", calls.cuModuleGetFunction(&function_, module_, name)));
  shared_bytes_ = std::max(gpu_.shared_bytes() - kSharedSpare, 0);
  return gpu_.Check("let the burn fill a multiprocessor",
                    calls.cuFuncSetAttribute(function_, cuda::kMaxDynamicSharedBytes, shared_bytes_));
}

Burner::~Burner() {
  const cuda::Calls& calls = gpu_.calls();
  if (mapped_ != nullptr) {
    Stop();
    static_cast<void>(Await());
  }
  if (module_ != nullptr) calls.cuModuleUnload(module_);
  if (memory_ != 0) calls.cuMemFree_v2(memory_);
  if (mapped_ != nullptr) calls.cuMemFreeHost(mapped_);
}

Status Burner::Launch(const kernels::BurnBounds& bounds) {
  cuda::DeviceMemory stop = mapped_on_gpu_;
  cuda::DeviceMemory accounts = mapped_on_gpu_ + kStopRoom;
  kernels::BurnBounds copy = bounds;
  void* parameters[] = {&stop, &accounts, &copy, &memory_, &vectors_};
  return gpu_.Check("launch the burn", gpu_.calls().cuLaunchKernel(
                                           function_, static_cast<unsigned>(blocks_), 1, 1, kernels::kBurnThreads, 1, 1,
                                           static_cast<unsigned>(shared_bytes_), nullptr, parameters, nullptr));
}

Result<bool> Burner::Running() const {
  const cuda::Code code = gpu_.calls().cuStreamQuery(nullptr);
  if (code == cuda::kNotReady) return true;
  TRIODRILL_RETURN_IF_ERROR(gpu_.Check("run the burn", code));
  return false;
}

void Burner::Stop() { __atomic_store_n(static_cast<kernels::Word32*>(mapped_), 1U, __ATOMIC_RELEASE); }

Status Burner::Await() const { return gpu_.Check("run the burn", gpu_.calls().cuStreamSynchronize(nullptr)); }

Burner::Account Burner::Read() const {
  const auto* const accounts =
      reinterpret_cast<const kernels::BurnBlock*>(static_cast<const char*>(mapped_) + kStopRoom);
  std::vector<kernels::BurnBlock> blocks;
  for (int i = 0; i < blocks_; ++i) {
    const kernels::BurnBlock& block = accounts[i];
    kernels::BurnBlock copy{};
    copy.launches = ReadWord(&block.launches);  // written last, so it is read first
    copy.rounds = ReadWord(&block.rounds);
    copy.busy_ns = ReadWord(&block.busy_ns);
    copy.multiprocessor = ReadWord(&block.multiprocessor);
    blocks.push_back(copy);
  }
  return AccountOf(blocks);
}

}  // namespace triodrill
