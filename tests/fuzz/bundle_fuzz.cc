// Envelope and archive of a bundle as a stranger may send them: an envelope is taken only as it would be written, an
// archive leaves nothing outside its directory and nothing behind.
#include <filesystem>
#include <fstream>

#include "reports/evidence/archive.h"
#include "reports/evidence/tree.h"
#include "tests/fuzz/fuzz.h"
#include "triodrill/signed/dsse.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

namespace fs = std::filesystem;

class Place {
 public:
  Place() {
    std::string pattern = (fs::temp_directory_path() / "triodrill-fuzz-XXXXXX").string();
    fuzz::Must(::mkdtemp(pattern.data()) != nullptr, "no directory");
    directory_ = pattern;
    ::setenv("TMPDIR", pattern.c_str(), 1);
  }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  std::string archive() const { return (directory_ / "b.tar.zst").string(); }
  auto Entries() const { return std::distance(fs::directory_iterator(directory_), {}); }

 private:
  fs::path directory_;
};

void Unpacks(std::string_view bytes) {
  static const Place place;
  std::ofstream(place.archive(), std::ios::binary | std::ios::trunc) << bytes;
  {
    const Result<BundleSource> source = BundleSource::Open(place.archive());
    if (source.ok()) {
      const Result<BundleTree> tree = BundleTree::Open(source->directory());
      fuzz::Must(tree.ok() && tree->Files().ok(), "something was unpacked that has no business in a bundle");
      fuzz::Must(place.Entries() == 2, "something lies beside the directory of the archive");
    }
  }
  fuzz::Must(place.Entries() == 1, "something was left behind");
}

}  // namespace
}  // namespace triodrill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto envelope = triodrill::ParseEnvelope(text); envelope.ok()) {
    triodrill::fuzz::Must(triodrill::EnvelopeText(*envelope) == text, "an envelope is taken that is not written so");
  }
  triodrill::Unpacks(text);
  return 0;
}
