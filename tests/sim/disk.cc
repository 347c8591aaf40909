#include "tests/sim/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "triodrill/text.h"

namespace triodrill::sim {

Disk::Disk(std::string directory) : directory_(std::move(directory)) {
  std::filesystem::remove_all(directory_);
  std::filesystem::create_directories(directory_);
}

Disk::~Disk() { std::filesystem::remove_all(directory_); }

void Disk::Apply(const Change& change, Names_& names) const {
  if (change.file == nullptr) {
    names.erase(change.name);
  } else {
    names[change.name] = change.file;
  }
}

void Disk::Do(const std::string& name, std::shared_ptr<File> file) {
  changes_.push_back({name, std::move(file)});
  Apply(changes_.back(), now_);
}

// Before each call; what a destructor of a process that died asks for is not done.
bool Disk::Gone() {
  if (!dead) before_call();
  if (dead) errno = EIO;
  return dead;
}

FileCalls Disk::Calls() {
  FileCalls calls;
  calls.open = [this](int directory, const char* name, int flags, mode_t mode) {
    if (Gone()) return -1;
    if (full) {
      errno = ENOSPC;
      return -1;
    }
    const int fd = ::openat(directory, name, flags, mode);
    if (fd < 0) return fd;
    open_[fd] = std::make_shared<File>();
    Do(name, open_[fd]);
    return fd;
  };
  calls.write = [this](int fd, const void* bytes, size_t size) -> ssize_t {
    if (Gone()) return -1;
    if (full) {
      errno = ENOSPC;
      return -1;
    }
    const ssize_t wrote = ::write(fd, bytes, size);
    if (wrote > 0) open_.at(fd)->bytes.append(static_cast<const char*>(bytes), static_cast<size_t>(wrote));
    return wrote;
  };
  calls.sync = [this](int fd) {
    if (Gone()) return -1;
    if (failing_syncs > 0) {
      --failing_syncs;
      errno = EIO;
      return -1;
    }
    struct stat seen {};
    if (::fstat(fd, &seen) != 0) return -1;
    if (!S_ISDIR(seen.st_mode)) {
      if (!forgets_file_syncs) open_.at(fd)->synced = open_.at(fd)->bytes.size();
    } else if (!forgets_directory_syncs) {
      durable_ = now_;
      changes_.clear();
    }
    return 0;
  };
  calls.rename = [this](int directory, const char* from, const char* to) {
    if (Gone()) return -1;
    if (::renameat(directory, from, directory, to) != 0) return -1;
    const std::shared_ptr<File> file = now_.at(from);
    Do(to, file);
    Do(from, nullptr);
    return 0;
  };
  calls.unlink = [this](int directory, const char* name) {
    if (Gone()) return -1;
    if (::unlinkat(directory, name, 0) != 0) return -1;
    Do(name, nullptr);
    return 0;
  };
  return calls;
}

void Disk::LosePower(Random& random) {
  Names_ left = durable_;
  const size_t kept = random.Below(changes_.size() + 1);
  for (size_t i = 0; i < kept; ++i) Apply(changes_[i], left);
  for (const std::string& name : Names("")) std::filesystem::remove(Cat(directory_, "/", name));
  for (auto& [name, file] : left) {
    const size_t size = file->synced + random.Below(file->bytes.size() - file->synced + 1);
    file = std::make_shared<File>(File{file->bytes.substr(0, size), size});
    std::ofstream(Cat(directory_, "/", name), std::ios::binary) << file->bytes;
  }
  now_ = durable_ = left;
  changes_.clear();
  open_.clear();
}

void Disk::Rot(const std::string& suffix, Random& random) {
  const std::vector<std::string> names = Names(suffix);
  if (names.empty()) return;
  const std::string& name = names[random.Below(names.size())];
  std::string& bytes = now_.at(name)->bytes;
  if (bytes.empty()) return;
  const size_t where = random.Below(bytes.size());
  bytes[where] = static_cast<char>(bytes[where] ^ (1 << random.Below(8)));
  std::ofstream(Cat(directory_, "/", name), std::ios::binary | std::ios::trunc) << bytes;
}

void Disk::Remove(const std::string& name) {
  std::filesystem::remove(Cat(directory_, "/", name));
  Do(name, nullptr);
}

bool Disk::SurvivesPowerLoss(const std::string& name) const {
  const auto whole = [](const Names_& names, const std::string& one) {
    const auto found = names.find(one);
    return found != names.end() && found->second->synced == found->second->bytes.size();
  };
  Names_ left = durable_;
  if (!whole(left, name)) return false;
  for (const Change& change : changes_) {
    Apply(change, left);
    if (!whole(left, name)) return false;
  }
  return true;
}

std::vector<std::string> Disk::Names(const std::string& suffix) const {
  std::vector<std::string> names;
  for (const auto& [name, file] : now_) {
    if (name.ends_with(suffix) && (suffix.empty() || !name.starts_with("."))) names.push_back(name);
  }
  return names;
}

}  // namespace triodrill::sim
