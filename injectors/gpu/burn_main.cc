// triodrill-burn: runs a kernel of its own on one GPU for a share of each period, until told to end. One process:
// whatever way it ends, the driver ends its kernel and takes back what it holds.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "injectors/gpu/burn_order.h"
#include "injectors/gpu/burner.h"
#include "injectors/os/clock.h"
#include "injectors/process/helper_side.h"

namespace triodrill {
namespace {

// Sealed at its size, so that who maps it can never be sent a SIGBUS.
Result<BurnPage*> MakePage(uint32_t wanted) {
  const UniqueFd made(::memfd_create(kBurnPageName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.valid()) return ErrnoStatus("make", "the page");
  if (::ftruncate(made.get(), sizeof(BurnPage)) != 0 ||
      ::fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return ErrnoStatus("seal", "the page");
  }
  void* const memory = ::mmap(nullptr, sizeof(BurnPage), PROT_READ | PROT_WRITE, MAP_SHARED, made.get(), 0);
  if (memory == MAP_FAILED) return ErrnoStatus("map", "the page");
  // Found among the descriptors of this process for as long as it lives.
  if (::fcntl(made.get(), F_DUPFD_CLOEXEC, kHelperStatusFd + 1) < 0) return ErrnoStatus("keep", "the page");
  auto* const page = new (memory) BurnPage;
  page->layout = kBurnLayout;
  page->bytes = sizeof(BurnPage);
  page->wanted = wanted;
  page->magic.store(kBurnMagic, std::memory_order_release);
  return page;
}

class Burning {
 public:
  Burning(const BurnOrder& order, const ReasonsToEnd& reasons, Burner& burner, BurnPage& page)
      : order_(order), reasons_(reasons), burner_(burner), page_(page) {}

  // Until there is a reason to end.
  Status Run() {
    begun_ = SinceBoot();
    for (Nanos next = begun_; !reasons_.Before(next); next = std::max(next + order_.period, SinceBoot())) {
      TRIODRILL_RETURN_IF_ERROR(burner_.Launch(BoundsOf(order_)));
      TRIODRILL_ASSIGN_OR_RETURN(const bool ended, AwaitLaunch());
      if (!ended) return Ok();
      TRIODRILL_RETURN_IF_ERROR(Tell());
    }
    return Ok();
  }

 private:
  // False: there is a reason to end, and the kernel was told.
  Result<bool> AwaitLaunch() {
    const Nanos look = std::clamp(order_.period / 20, kLeastLook, kMostLook);
    while (true) {
      TRIODRILL_ASSIGN_OR_RETURN(const bool running, burner_.Running());
      if (!running) return true;
      if (!reasons_.Before(SinceBoot() + look)) continue;
      burner_.Stop();
      TRIODRILL_RETURN_IF_ERROR(burner_.Await());
      return false;
    }
  }

  Status Tell() {
    const Burner::Account account = burner_.Read();
    const bool everywhere = account.multiprocessors == burner_.blocks();
    page_.since_ns = static_cast<uint64_t>((SinceBoot() - begun_).count());
    page_.busy_ns = account.busy_ns;
    page_.rounds = account.rounds;
    page_.multiprocessors = static_cast<uint32_t>(account.multiprocessors);
    page_.launches = account.launches;
    if (account.launches == 0 || !everywhere) {
      return absl::AbortedError(Cat("look at the burn's accounts: it counts on ", account.multiprocessors, " of ",
                                    burner_.blocks(), " multiprocessors"));
    }
    ShowCount(kBurnCount, static_cast<int>(std::min<uint64_t>(account.launches, kMostShown)));
    if (account.launches != 1) return Ok();
    SayStarted();
    CloseStatus();
    return Ok();
  }

  static constexpr Nanos kLeastLook = std::chrono::microseconds(50);
  static constexpr Nanos kMostLook = std::chrono::milliseconds(1);
  static constexpr uint64_t kMostShown = 999'999'999;  // so many digits fit into the name

  const BurnOrder& order_;
  const ReasonsToEnd& reasons_;
  Burner& burner_;
  BurnPage& page_;
  Nanos begun_{0};
};

Status Burn(const BurnOrder& order, const ReasonsToEnd& reasons) {
  TRIODRILL_ASSIGN_OR_RETURN(const std::unique_ptr<CudaGpu> gpu, CudaGpu::Open(order.library, order.uuid));
  const BurnKind kind = order.memory ? BurnKind::kMemory : BurnKind::kCompute;
  TRIODRILL_ASSIGN_OR_RETURN(const std::unique_ptr<Burner> burner,
                             Burner::Make(*gpu, kind, BlocksOf(order, gpu->multiprocessors())));
  TRIODRILL_ASSIGN_OR_RETURN(BurnPage* const page, MakePage(static_cast<uint32_t>(burner->blocks())));
  ShowCount(kBurnCount, 0);
  return Burning(order, reasons, *burner, *page).Run();
}

int Run(const std::vector<std::string>& arguments) {
  const auto failed = [](const Status& status) { return SayFailed(kBurnProgram, status); };
  const Result<BurnOrder> order = ParseBurnArguments(arguments);
  if (!order.ok()) return failed(order.status());
  const Result<ReasonsToEnd> reasons = ReasonsToEnd::Watch(order->common);
  if (!reasons.ok()) return failed(reasons.status());
  if (reasons->Now()) return 0;
  const Status burned = Burn(*order, *reasons);
  return burned.ok() ? 0 : failed(burned);
}

}  // namespace
}  // namespace triodrill

int main(int argc, char** argv) { return triodrill::Run({argv, argv + argc}); }
