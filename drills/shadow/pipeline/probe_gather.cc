#include <gloo/allgather.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <array>
#include <exception>
#include <vector>

#include "drills/shadow/pipeline/probe_checks.h"
#include "triodrill/text.h"

namespace triodrill::shadow::pipeline {
namespace {

constexpr size_t kElements = 4096;
constexpr int kRounds = 4;

double ValueOf(int rank, int round, size_t index) { return rank * 1e6 + round * 1e5 + static_cast<double>(index); }

}  // namespace

Status GatherWithOther(const std::string& address, int rank, const std::string& store, Nanos timeout) {
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = address;
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore rendezvous(store);
    const auto context = std::make_shared<gloo::rendezvous::Context>(rank, 2);
    context->setTimeout(std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
    context->connectFullMesh(rendezvous, device);
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> mine(kElements);
      std::vector<double> all(2 * kElements);
      for (size_t i = 0; i < kElements; ++i) mine[i] = ValueOf(rank, round, i);
      gloo::AllgatherOptions options(context);
      options.setInput(mine.data(), mine.size());
      options.setOutput(all.data(), all.size());
      gloo::allgather(options);
      for (size_t i = 0; i < all.size(); ++i) {
        const int from = static_cast<int>(i / kElements);
        if (all[i] == ValueOf(from, round, i % kElements)) continue;
        return absl::DataLossError(Cat("all-gather: element ", i, " of round ", round, " arrived damaged"));
      }
    }
    return Ok();
  } catch (const std::exception& error) {
    return absl::UnavailableError(Cat("all-gather: ", error.what()));
  }
}

}  // namespace triodrill::shadow::pipeline
