// A directory of a node on a disk that loses what was not synced when the power goes. The files are real, in memory;
// which of them would survive is kept beside them. Names survive in the order of the operations on them, as a
// journaling file system keeps them; a file's bytes survive whole only if the file was synced.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "injectors/journal/file_calls.h"
#include "tests/sim/random.h"

namespace triodrill::sim {

// The process that asked died in the middle of a call.
struct Died {};

class Disk {
 public:
  explicit Disk(std::string directory);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  const std::string& directory() const { return directory_; }
  FileCalls Calls();

  // What a test bends.
  std::function<void()> before_call = [] {};  // may throw Died
  int failing_syncs = 0;                      // so many fail with EIO
  bool full = false;                          // writes fail with ENOSPC
  bool dead = false;                          // whoever still asks is no more: nothing happens
  bool forgets_directory_syncs = false;       // mutants
  bool forgets_file_syncs = false;

  // What was not synced is lost, in part or whole.
  void LosePower(Random& random);
  // One bit of a file of that name ends changes.
  void Rot(const std::string& suffix, Random& random);
  // As by a person.
  void Remove(const std::string& name);
  // Whether a file of that name is there, whole, whatever part of the unsynced is lost.
  bool SurvivesPowerLoss(const std::string& name) const;
  // Names there now.
  std::vector<std::string> Names(const std::string& suffix) const;

 private:
  struct File {
    std::string bytes;
    size_t synced = 0;  // so many of them
  };
  using Names_ = std::map<std::string, std::shared_ptr<File>>;
  struct Change {
    std::string name;
    std::shared_ptr<File> file;  // null: taken away
  };

  bool Gone();
  void Apply(const Change& change, Names_& names) const;
  void Do(const std::string& name, std::shared_ptr<File> file);

  const std::string directory_;
  Names_ now_;
  Names_ durable_;
  std::vector<Change> changes_;  // since the directory was synced
  std::map<int, std::shared_ptr<File>> open_;
};

}  // namespace triodrill::sim
