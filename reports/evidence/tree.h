// A bundle's files as they lie on the disk, looked at without trusting them: nothing outside the directory is opened,
// no link is followed, nothing but plain files is read, and names, depth and number are bounded. Owned by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"

namespace triodrill {

inline constexpr size_t kMostBundleFiles = 10'000;
inline constexpr int kDeepestBundlePath = 8;
inline constexpr size_t kLongestBundlePath = 1024;

// "raw/n0.log": relative, no empty part, no "." or "..", bounded.
bool IsBundlePath(std::string_view path);

class BundleTree {
 public:
  static Result<BundleTree> Open(const std::string& directory);
  ~BundleTree();
  BundleTree(BundleTree&& other) noexcept;
  BundleTree& operator=(BundleTree&& other) = delete;

  // Paths of all files, sorted. An error names what has no business in a bundle: a link, a device, a name out of
  // bounds.
  Result<std::vector<std::string>> Files() const;

  // The file's bytes in pieces, through one buffer of fixed size. Ends at the first error of `take`.
  using Take = std::function<Status(std::string_view)>;
  Status Read(const std::string& path, const Take& take) const;
  // All of it, if it is no larger than `most`.
  Result<std::string> ReadAll(const std::string& path, size_t most) const;

  struct Digest {
    int64_t bytes = 0;
    std::string sha256;
  };
  Result<Digest> DigestOf(const std::string& path) const;

 private:
  explicit BundleTree(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace triodrill
