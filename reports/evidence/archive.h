// A bundle as one file, NAME.tar.zst: its files below one folder, sorted, without owners and times, so that equal
// bundles make equal archives. Read without trusting it: plain files only, names, number and sizes bounded, nothing
// written outside a new directory of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "triodrill/status.h"

namespace triodrill {

inline constexpr std::string_view kArchiveSuffix = ".tar.zst";
// An archive that would grow to more than this, or to so many times its own size and some, is taken for a bomb.
inline constexpr int64_t kMostArchiveBytes = int64_t{16} << 30;
inline constexpr int64_t kMostArchiveGrowth = 200;
inline constexpr int64_t kArchiveGrowthFreeBytes = int64_t{64} << 20;

bool IsArchive(std::string_view path);

// Written beside `archive`, synced, and renamed over it.
Status PackBundle(const std::string& directory, const std::string& archive);

// A bundle that can be read, whatever was named: a directory as it is, an archive unpacked into a new directory below
// the one for temporary files ($TMPDIR, or /tmp), which goes with the value.
class BundleSource {
 public:
  static Result<BundleSource> Open(const std::string& path);
  ~BundleSource();
  BundleSource(BundleSource&& other) noexcept;
  BundleSource& operator=(BundleSource&& other) = delete;

  const std::string& directory() const { return directory_; }

 private:
  BundleSource(std::string directory, bool ours) : directory_(std::move(directory)), ours_(ours) {}
  std::string directory_;
  bool ours_;
};

}  // namespace triodrill
